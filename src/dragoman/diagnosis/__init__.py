"""What ``dragoman doctor`` looks at: the machine, the model file, the memory, the engine. Nothing here prints."""
