//! Paths as a model or client wrote them, parsed once in the flavour of the machine that serves them.
