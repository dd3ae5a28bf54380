"""`make bench`: Dragoman and its peers under the same load, one at a time, on the same model and threads."""
