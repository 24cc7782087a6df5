import { readFileSync, statSync } from 'node:fs';
import { basename, isAbsolute } from 'node:path';
import { BACKEND_FIELDS, isShownField } from './backend-types.js';
import { expandVariables, isLiteral } from './expand.js';
import { configFiles, expandHome, variable } from './paths.js';
import { isPlainMap } from './plain.js';
import { quote } from './problems.js';
import { parseYaml } from './yaml-text.js';
const MAX_BYTES = 1_048_576;
const IGNORED = 'no file is read';
/**
 * `HOOKSPAN_CONFIG`, else the first of `configFiles`. Never one of the working directory: an agent is often started in a
 * repository that somebody else wrote. A file that cannot be read is reported and counts as none.
 */
export function loadConfigFile(env, home, problems) {
    const path = findFile(env, home, problems);
    if (path === undefined)
        return undefined;
    const text = readText(path, problems);
    const parsed = text === undefined ? undefined : parseYaml(text);
    if (!parsed)
        return undefined;
    if ('fault' in parsed) {
        const where = parsed.line === undefined ? undefined : `line ${parsed.line}, column ${parsed.column}`;
        problems.add('error', path, parsed.fault, where, 'the file is ignored');
        return undefined;
    }
    warnAboutMode(path, parsed.values, problems);
    const place = (inside) => `${basename(path)} line ${lineOf(parsed.lines, inside)}`;
    return { path, values: expandVariables(parsed.values, env), place };
}
function findFile(env, home, problems) {
    const named = variable(env, 'HOOKSPAN_CONFIG');
    if (named !== undefined)
        return namedFile(expandHome(named, home), problems);
    // Without a home directory the default would be a relative path.
    const found = configFiles(env, home).filter(path => isAbsolute(path) && statOf(path));
    for (const unused of found.slice(1))
        problems.add('warning', unused, `not read, because ${found[0]} is there`);
    return found[0];
}
function namedFile(path, problems) {
    if (path === '/dev/null')
        return undefined;
    const relative = !isAbsolute(path);
    if (!relative && statOf(path))
        return path;
    const fault = relative ? `expected an absolute path, got ${quote(path)}` : 'it names a file that is not there';
    problems.add('error', 'HOOKSPAN_CONFIG', fault, 'environment', IGNORED);
    return undefined;
}
function statOf(path) {
    try {
        return statSync(path);
    }
    catch {
        return undefined;
    }
}
function readText(path, problems) {
    const stats = statOf(path);
    // A pipe or a device would block the host for as long as nobody writes into it.
    const fault = stats?.isFile() ? (stats.size > MAX_BYTES ? 'it is larger than 1 MiB' : undefined) : 'it is not a file';
    if (fault === undefined) {
        try {
            return readFileSync(path, 'utf8');
        }
        catch (error) {
            const code = error.code ?? 'unknown error';
            problems.add('error', path, `it cannot be read: ${code}`, undefined, IGNORED);
            return undefined;
        }
    }
    problems.add('error', path, fault, undefined, IGNORED);
    return undefined;
}
function lineOf(lines, path) {
    let inside = path;
    while (inside !== '') {
        const line = lines.get(inside);
        if (line !== undefined)
            return line;
        inside = inside.slice(0, Math.max(0, inside.lastIndexOf('.'), inside.lastIndexOf('[')));
    }
    return 1;
}
function warnAboutMode(path, values, problems) {
    const mode = statOf(path)?.mode ?? 0;
    if (process.platform === 'win32')
        return;
    if ((mode & 0o002) !== 0)
        problems.add('warning', path, 'anybody can write to it', undefined, 'chmod 600 it');
    if ((mode & 0o044) === 0 || !holdsSecret(values['backends']))
        return;
    const remedy = 'chmod 600 it, or name environment variables instead (fields that end in _env)';
    problems.add('warning', path, 'it holds secrets, and others can read it', undefined, remedy);
}
function holdsSecret(backends) {
    const list = Array.isArray(backends) ? backends : [backends];
    return list.some(backend => isPlainMap(backend) && Object.entries(backend).some(isSecretField));
}
function isSecretField([name, value]) {
    if (typeof value === 'string' && /^https?:\/\/[^/]*@/i.test(value))
        return isLiteral(value);
    if (name === 'headers')
        return isPlainMap(value) ? Object.values(value).some(isLiteralText) : isLiteralText(value);
    return !Object.hasOwn(BACKEND_FIELDS, name) && !name.endsWith('_env') && !isShownField(name) && isLiteralText(value);
}
function isLiteralText(value) {
    return typeof value === 'string' && isLiteral(value);
}
