type Shutdown = () => Promise<void>;
/** Has a plugin shut down when its process ends. Returns what takes it back. */
export declare function shutdownAtExit(shutdown: Shutdown, handleSignals: boolean): () => void;
export {};
