"""Why a job is where it is: verdicts, conflicts and remedies about one job."""
