import { homedir } from 'node:os';
import { isKeyName, KEY_NAMES, variableOf } from './keys.js';
import { nearestName, suggestion } from './nearest.js';
import { variable } from './paths.js';
import { emptyMap, isPlainMap, plainCopy } from './plain.js';
import { showName } from './problems.js';
import { refuse } from './reading.js';
export function readInput(input) {
    const part = (name) => readProperty(input, name);
    const home = part('home');
    const hostName = part('hostName');
    return {
        code: plainCopy(part('code')),
        env: copyEnvironment(part('env') ?? process.env),
        home: typeof home === 'string' ? home : homeDirectory(),
        hostName: typeof hostName === 'string' && hostName.trim() !== '' ? hostName.trim() : undefined,
    };
}
function readProperty(holder, name) {
    try {
        return typeof holder === 'object' && holder !== null ? holder[name] : undefined;
    }
    catch {
        return undefined;
    }
}
function copyEnvironment(env) {
    const copy = emptyMap();
    try {
        for (const name of Object.keys(env)) {
            const value = readProperty(env, name);
            if (typeof value === 'string')
                copy[name] = value;
        }
    }
    catch {
        return copy;
    }
    return copy;
}
// It throws where the user has no entry in the password file.
function homeDirectory() {
    try {
        return homedir();
    }
    catch {
        return '';
    }
}
export function fileSource(file) {
    return { from: 'file', value: key => file.values[key], place: path => file.place(path) };
}
export function environmentSource(env) {
    const place = (path) => PREFIX + path.replace(/[.[].*$/s, '').toUpperCase();
    return { from: 'environment', value: key => variable(env, variableOf(key)), place };
}
export function codeSource(code) {
    return { from: 'code', value: key => code[key], place: () => 'options in code' };
}
/** The options given in code as a mapping, or a complaint. */
export function codeOptions(code, problems) {
    if (isPlainMap(code))
        return code;
    if (code !== undefined)
        problems.add('error', 'options', refuse(code, 'a mapping of keys').reason, 'options in code');
    return emptyMap();
}
/** Names that no key has, and that would otherwise be passed over in silence. */
export function warnAboutUnknownKeys(values, source, problems) {
    for (const name of Object.keys(values)) {
        if (isKeyName(name))
            continue;
        const outcome = suggestion(name, KEY_NAMES) ?? 'ignoring it';
        problems.add('warning', showName(name), 'there is no such key', source.place(name), outcome);
    }
}
/** Only those that look like a slip: other parts of the program, and other programs, have variables of their own. */
export function warnAboutVariables(env, problems) {
    for (const name of Object.keys(env)) {
        if (!name.startsWith(PREFIX) || KNOWN_VARIABLES.has(name))
            continue;
        const meant = nearestName(name.slice(PREFIX.length), KEY_NAMES);
        if (!meant)
            continue;
        const outcome = `did you mean ${PREFIX}${meant.toUpperCase()}?`;
        problems.add('warning', name, 'there is no such variable', 'environment', outcome);
    }
}
const PREFIX = 'HOOKSPAN_';
const KNOWN_VARIABLES = new Set(['HOOKSPAN_CONFIG', ...KEY_NAMES.map(variableOf)]);
