import { GEN_AI } from './gen-ai.js';
import { GENERAL } from './general.js';
import { OPENINFERENCE } from './openinference.js';
import { OWN } from './own.js';
/** The name of every attribute of a convention that is switched off: rows write as always, the tracker drops it. */
export const DISCARDED = '';
function mapValues(names, map) {
    return Object.fromEntries(Object.entries(names).map(([key, name]) => [key, map(name)]));
}
const discard = () => DISCARDED;
export function resolveNamespace(template, namespace) {
    return template.replace('{ns}', namespace);
}
export function resolveNames(namespace, conventions) {
    const has = (convention) => conventions.includes(convention);
    return {
        general: GENERAL,
        own: mapValues(OWN, has('own') ? name => resolveNamespace(name, namespace) : discard),
        genAi: has('gen_ai') ? GEN_AI : mapValues(GEN_AI, discard),
        inference: has('openinference') ? OPENINFERENCE : mapValues(OPENINFERENCE, discard),
        hasDiscarded: !(has('own') && has('gen_ai') && has('openinference')),
    };
}
