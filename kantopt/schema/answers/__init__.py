"""Documents that commands answer with: plans, certificates, explanations and others."""
