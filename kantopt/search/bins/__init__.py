"""Nodes filled one by one to the last: can so many pods be placed at all, and if so where?"""
