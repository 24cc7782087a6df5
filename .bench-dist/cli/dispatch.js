import { readFile } from 'node:fs/promises';
import { nearestName } from '../config/nearest.js';
import { EXIT, reportFailure } from './command.js';
import { COMMANDS } from './commands.js';
/** Runs the command that the arguments name; resolves to the exit code and never rejects. */
export async function dispatch(args, io, rows = COMMANDS) {
    const [name, ...rest] = args;
    if (name === '--version' || name === '-V')
        return printVersion(io);
    if (name === undefined || name === '--help' || name === '-h')
        return printHelp(name !== undefined, io, rows);
    if (name === 'help')
        return dispatch([...rest.slice(0, 1), '--help'], io, rows);
    const row = rows.find(each => each.name === name);
    if (row === undefined)
        return refuse(name, io, rows);
    try {
        return await (await row.load()).run(rest, io);
    }
    catch (error) {
        return reportFailure(row, error, io);
    }
}
function printHelp(wasAsked, io, rows) {
    const width = Math.max(...rows.map(row => row.name.length));
    const lines = [
        'hookspan: OpenTelemetry traces from the hooks of AI agents',
        '',
        'Usage: hookspan COMMAND [OPTIONS]',
        '',
        ...rows.map(row => `  ${row.name.padEnd(width)}  ${row.summary}`),
        '',
        'hookspan COMMAND --help says more about one of them; hookspan --version says which one this is.',
    ];
    const output = wasAsked ? io.stdout : io.stderr;
    output.write(`${lines.join('\n')}\n`);
    return wasAsked ? EXIT.ok : EXIT.wrongUse;
}
async function printVersion(io) {
    const text = await readFile(new URL('../../package.json', import.meta.url), 'utf8');
    const { version } = JSON.parse(text);
    io.stdout.write(`${version}\n`);
    return EXIT.ok;
}
function refuse(name, io, rows) {
    const what = name.startsWith('-') ? 'option' : 'command';
    const names = rows.map(row => row.name);
    const meant = what === 'command' ? nearestName(name, names) : undefined;
    const advice = meant === undefined ? `Commands: ${names.join(', ')}` : `Did you mean "hookspan ${meant}"?`;
    io.stderr.write(`hookspan: unknown ${what} ${JSON.stringify(name)}. ${advice}\n`);
    return EXIT.wrongUse;
}
