import { Unusable } from './plain.js';
import { quote, showName } from './problems.js';
export function within(site, key) {
    const [path, name] = typeof key === 'number' ? [`[${key}]`, `[${key}]`] : [`.${key}`, `.${showName(key)}`];
    return { ...site, path: site.path + path, name: site.name + name };
}
export function report(site, text, outcome, level = site.level) {
    site.problems.add(level, site.name, text, site.place(site.path), outcome);
}
/** `hidden`: it may be a secret, so only its kind is told. */
export function refuse(value, expected, hidden = false) {
    if (value instanceof Unusable && value.reason !== undefined)
        return { reason: value.reason };
    return { reason: `expected ${expected}, got ${describe(value, hidden)}` };
}
function describe(value, hidden) {
    if (value === undefined)
        return 'nothing';
    if (value instanceof Unusable)
        return value.what;
    if (Array.isArray(value))
        return 'a list';
    if (typeof value === 'object')
        return 'a mapping';
    if (hidden)
        return typeof value === 'string' ? 'other text' : `a ${typeof value}`;
    return typeof value === 'string' ? quote(value) : String(value);
}
