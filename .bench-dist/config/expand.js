import { emptyMap, isPlainMap, Unusable } from './plain.js';
// `$${` stands for a literal `${`.
const REFERENCE = /\$\$\{|\$\{([^}]*)\}?/g;
const NAME = /^([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?$/s;
/** `${VAR}` and `${VAR:-default}` in every string of a file. A variable without a value makes the string unusable. */
export function expandVariables(value, env) {
    if (typeof value === 'string')
        return expandText(value, env);
    if (Array.isArray(value))
        return value.map(element => expandVariables(element, env));
    if (!isPlainMap(value))
        return value;
    const expanded = emptyMap();
    for (const [name, entry] of Object.entries(value))
        expanded[name] = expandVariables(entry, env);
    return expanded;
}
/** Whether a secret in this string is held by the file itself, not by a variable. */
export function isLiteral(text) {
    return text.trim() !== '' && !/(^|[^$])\$\{/.test(text);
}
function expandText(text, env) {
    let fault;
    const expanded = text.replace(REFERENCE, (reference, inside) => {
        if (inside === undefined)
            return '${';
        const found = look(inside, reference, env);
        if (typeof found === 'string')
            return found;
        fault ??= found;
        return '';
    });
    return fault ?? expanded;
}
function look(inside, reference, env) {
    const [, name, fallback] = reference.endsWith('}') ? (NAME.exec(inside) ?? []) : [];
    // What stands between the braces is not shown: it may be anything.
    if (name === undefined)
        return new Unusable('text', 'it holds a "${" that no name of a variable follows');
    const held = env[name];
    // As a shell has it: `:-` stands in for an empty value too.
    if (fallback !== undefined)
        return held === undefined || held === '' ? fallback : held;
    return held ?? new Unusable('text', `the variable ${name} is not set`);
}
