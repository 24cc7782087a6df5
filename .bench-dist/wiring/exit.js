const waiting = new Set();
const signalled = new Set();
let isListening = false;
async function shutdownAll(shutdowns) {
    await Promise.all([...shutdowns].map(shutdown => shutdown()));
}
/**
 * `beforeExit` fires again whenever something was still to be done in it, so it must be listened to once: a flush that
 * starts a flush would keep the process for ever. One listener serves all plugins of the process.
 */
function listen() {
    if (isListening)
        return;
    isListening = true;
    process.once('beforeExit', () => {
        isListening = false;
        void shutdownAll(new Set(waiting));
    });
}
const SIGNALS = ['SIGINT', 'SIGTERM'];
function onSignal(signal) {
    for (const name of SIGNALS)
        process.removeListener(name, onSignal);
    // The host decides what a signal does: after our flush it is raised again, with us no longer listening.
    void shutdownAll(new Set(signalled)).then(() => process.kill(process.pid, signal));
}
/** Has a plugin shut down when its process ends. Returns what takes it back. */
export function shutdownAtExit(shutdown, handleSignals) {
    waiting.add(shutdown);
    listen();
    if (handleSignals) {
        if (signalled.size === 0)
            for (const name of SIGNALS)
                process.on(name, onSignal);
        signalled.add(shutdown);
    }
    return () => {
        waiting.delete(shutdown);
        if (signalled.delete(shutdown) && signalled.size === 0) {
            for (const name of SIGNALS)
                process.removeListener(name, onSignal);
        }
    };
}
