import { appendFileSync, mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
/** The debug log stops here: nobody reads more, and a disk must not fill because debugging was forgotten. */
const DEBUG_FILE_LIMIT_BYTES = 10 * 1024 * 1024;
function oneLine(text) {
    return text.replace(/\s*[\r\n]+\s*/g, ' ');
}
class DebugFile {
    #directory;
    #path;
    #isOpen = false;
    constructor(directory) {
        this.#directory = directory;
        this.#path = join(directory, 'debug.log');
    }
    write(line) {
        // Debugging must not break what it looks at: a log that cannot be written is done without.
        try {
            if (!this.#isOpen)
                mkdirSync(this.#directory, { recursive: true, mode: 0o700 });
            this.#isOpen = true;
            if ((statSync(this.#path, { throwIfNoEntry: false })?.size ?? 0) > DEBUG_FILE_LIMIT_BYTES)
                return;
            appendFileSync(this.#path, `${new Date().toISOString()} ${line}\n`, { mode: 0o600 });
        }
        catch {
            this.#isOpen = false;
        }
    }
}
/**
 * `warn` and `error` are lines on stderr that start with `hookspan:`; `debug` goes to a file in the state directory, and
 * only for those who asked.
 */
export function createDiagnostics(debugDirectory) {
    const file = debugDirectory === undefined ? undefined : new DebugFile(debugDirectory);
    const say = (line) => {
        const text = oneLine(line);
        process.stderr.write(`hookspan: ${text}\n`);
        file?.write(text);
    };
    return { warn: say, error: say, debug: line => file?.write(oneLine(line)) };
}
