"""Features that bind nobody, added to the instances of other suites: what do they cost?"""
