import { homedir } from 'node:os';
/** The real process as a command sees it. */
export function processIo() {
    let hangUp = ignore;
    const hungUp = new Promise(resolve => {
        hangUp = resolve;
    });
    return {
        stdout: openOutput(process.stdout, hangUp),
        stderr: openOutput(process.stderr, ignore),
        get stdin() {
            return process.stdin;
        },
        env: process.env,
        home: homedir(),
        now: Date.now,
        interrupted: () => Promise.race([hungUp, firstSignal()]),
    };
}
function ignore() {
    // There is nothing to do.
}
/**
 * `hookspan tree | head` closes the pipe while we write: that is no error, and what follows has no reader. A full disk
 * is one; either way the command runs to its end, because it may have other work than writing.
 */
function openOutput(stream, onClosed) {
    let isClosed = false;
    stream.on('error', (error) => {
        if (error.code !== 'EPIPE' && !isClosed)
            reportLoss(error);
        isClosed = true;
        onClosed();
    });
    return {
        write(text) {
            if (!isClosed)
                stream.write(text);
        },
        get isTTY() {
            return stream.isTTY === true;
        },
        get columns() {
            return stream.columns;
        },
    };
}
function reportLoss(error) {
    process.exitCode = 1;
    process.stderr.write(`hookspan: the output could not be written: ${error.message}\n`);
}
function firstSignal() {
    return new Promise(resolve => {
        const stop = () => {
            process.off('SIGINT', stop);
            process.off('SIGTERM', stop);
            resolve();
        };
        process.on('SIGINT', stop);
        process.on('SIGTERM', stop);
    });
}
