/** What the pipeline is told. Everything is resolved: no default is decided here, no variable is read. */
export {};
