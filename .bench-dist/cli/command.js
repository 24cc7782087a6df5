export const EXIT = { ok: 0, failed: 1, wrongUse: 2 };
/** The command was called in a way that it does not know; the message says what was wrong. */
export class WrongUse extends Error {
    name = 'WrongUse';
}
/**
 * Runs a command's body with the manners that all commands share: `--help` prints the usage, wrong use (a `WrongUse`,
 * or what `parseArgs` of node:util throws) is one line and a hint, and any other error one line.
 */
export async function runCommand(command, args, io, body) {
    if (wantsHelp(args)) {
        io.stdout.write(`${command.usage.trimEnd()}\n`);
        return EXIT.ok;
    }
    try {
        return await body();
    }
    catch (error) {
        if (!isWrongUse(error))
            return reportFailure(command, error, io);
        const [usage = ''] = command.usage.split('\n');
        io.stderr.write(`hookspan ${command.name}: ${firstSentence(error.message)}\n${usage}\n`);
        return EXIT.wrongUse;
    }
}
/** One line; the stack only for those who debug us. */
export function reportFailure(command, error, io) {
    const message = error instanceof Error ? error.message : String(error);
    io.stderr.write(`hookspan ${command.name}: ${message.replace(/\s+/g, ' ')}\n`);
    if (io.env['HOOKSPAN_DEBUG'] === '1' && error instanceof Error)
        io.stderr.write(`${error.stack}\n`);
    return EXIT.failed;
}
function wantsHelp(args) {
    const end = args.indexOf('--');
    return (end === -1 ? args : args.slice(0, end)).some(arg => arg === '--help' || arg === '-h');
}
function isWrongUse(error) {
    if (!(error instanceof Error))
        return false;
    return error instanceof WrongUse || ('code' in error && String(error.code).startsWith('ERR_PARSE_ARGS'));
}
/** `parseArgs` goes on to explain how to pass a positional that starts with a dash. */
function firstSentence(message) {
    return message.split(/\. (?=[A-Z])/)[0] ?? message;
}
