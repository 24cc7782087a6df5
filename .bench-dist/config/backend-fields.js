import { expandHome, variable } from './paths.js';
import { emptyMap, Unusable } from './plain.js';
import { showName } from './problems.js';
import { refuse, report, within } from './reading.js';
import { readBool, readMillis, readText, readWord } from './scalars.js';
const VARIABLE = /_env$/;
const VARIABLE_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
// Somebody who puts the secret itself where its variable's name belongs must not find it in a message.
const SURELY_A_NAME = /^[A-Z]+(_[A-Z0-9]+)+$/;
/**
 * The fields that are set, every `<x>_env` read into `<x>`. One whose variable cannot be read is there as unusable: what
 * an absent field means, a default address for one, is not what was asked for.
 */
export function collectFields(backend, site) {
    const entries = Object.entries(backend).filter(([, value]) => !isBlank(value));
    const fields = emptyMap();
    for (const [name, value] of entries) {
        if (!VARIABLE.test(name))
            fields[name] = { value, site: within(site, name) };
    }
    for (const [name, value] of entries) {
        if (VARIABLE.test(name))
            putVariable(fields, name.replace(VARIABLE, ''), readVariable(value, within(site, name)));
    }
    return fields;
}
export function isBlank(value) {
    return value === undefined || (typeof value === 'string' && value.trim() === '');
}
function readVariable(value, site) {
    if (typeof value !== 'string' || !VARIABLE_NAME.test(value.trim())) {
        return { value: new Unusable('text', 'expected the name of an environment variable'), site };
    }
    const name = value.trim();
    const which = SURELY_A_NAME.test(name) ? `the variable ${name}` : 'the variable that it names';
    return { value: variable(site.env, name) ?? new Unusable('text', `${which} is not set`), site };
}
function putVariable(fields, name, read) {
    if (!fields[name])
        fields[name] = read;
    else if (read.value instanceof Unusable)
        report(read.site, refuse(read.value, '').reason, `using ${showName(name)}`);
    else {
        report(read.site, `there is ${showName(name)}, too`, 'using the variable', 'warning');
        fields[name] = read;
    }
}
const PREFERENCES = {
    exact_endpoint: readBool,
    protocol: value => readWord(value, ['http/protobuf', 'http/json']),
    compression: value => readWord(value, ['gzip', 'none']),
    timeout_ms: value => readMillis(value, { min: 1 }),
    traces: readBool,
    metrics: readBool,
    logs: readBool,
    temporality: value => readWord(value, ['cumulative', 'delta', 'lowmemory']),
    certificate: readPath,
};
/** The fields that have a default by type: one that cannot be used is reported and left to it. */
export function readPreferences(fields) {
    const preferences = {};
    for (const [name, read] of Object.entries(PREFERENCES)) {
        const field = fields[name];
        if (!field)
            continue;
        const reading = read(field.value, field.site);
        if ('value' in reading)
            preferences[name] = reading.value;
        else
            report(field.site, reading.reason, 'using the default of its type');
    }
    return preferences;
}
/** A path; `~/` is the home directory. */
function readPath(value, site) {
    const reading = readText(value);
    return 'value' in reading ? { value: expandHome(reading.value, site.home) } : reading;
}
