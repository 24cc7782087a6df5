import { readBackends } from './backends.js';
import { exporterNames } from './otel.js';
import { variable } from './paths.js';
import { emptyMap } from './plain.js';
import { alternatives } from './problems.js';
import { refuse, report } from './reading.js';
const SIGNALS = ['TRACES', 'METRICS', 'LOGS'];
/**
 * `OTEL_EXPORTER_OTLP_*` and `OTEL_<SIGNAL>_EXPORTER` as backends: one `otlp` for all signals, or one for each where
 * their variables differ; a signal without an address that was asked for goes nowhere.
 */
export function otelBackends(site) {
    warnAboutExporters(site);
    const drafts = [...otlpDrafts(site.env), ...consoleDrafts(site.env)];
    const [first] = drafts;
    if (!first)
        return undefined;
    const place = (path) => {
        const [, index = '0', field = ''] = /\[(\d+)\]\.?([a-z_]*)/.exec(path) ?? [];
        return drafts[Number(index)]?.places[field] ?? first.places['type'] ?? 'environment';
    };
    const reading = readBackends(drafts.map(draft => draft.fields), { ...site, place });
    return 'value' in reading ? { backends: reading.value, place: place('[0].type') } : undefined;
}
function otlpDrafts(env) {
    const [traces, metrics, logs] = SIGNALS.map(signal => otlpDraft(env, signal));
    const together = traces !== undefined && metrics !== undefined && sameTransport(traces, metrics);
    const drafts = [traces, together ? undefined : metrics].filter(draft => draft !== undefined);
    for (const draft of drafts) {
        draft.fields['traces'] = draft === traces;
        draft.fields['metrics'] = together || draft === metrics;
        // We send no logs of our own: an address for logs alone is no reason for a backend.
        draft.fields['logs'] = logs !== undefined && sameTransport(draft, logs);
    }
    if (traces && metrics && !together)
        metrics.fields['name'] = 'otlp-metrics';
    return drafts;
}
const SUFFIXES = {
    endpoint: 'ENDPOINT',
    protocol: 'PROTOCOL',
    compression: 'COMPRESSION',
    timeout_ms: 'TIMEOUT',
    certificate: 'CERTIFICATE',
};
function otlpDraft(env, signal) {
    const exporters = exporterNames(env, signal);
    if (exporters && !exporters.includes('otlp'))
        return undefined;
    const draft = { fields: emptyMap(), places: emptyMap() };
    for (const [field, suffix] of Object.entries(SUFFIXES)) {
        const found = [`OTEL_EXPORTER_OTLP_${signal}_${suffix}`, `OTEL_EXPORTER_OTLP_${suffix}`].find(name => variable(env, name));
        if (found)
            put(draft, field, variable(env, found), found);
    }
    putExactness(draft, signal);
    putHeaders(draft, env, signal);
    put(draft, 'temporality', variable(env, TEMPORALITY), TEMPORALITY);
    if (draft.fields['endpoint'] === undefined && !exporters)
        return undefined;
    put(draft, 'type', 'otlp', draft.places['endpoint'] ?? `OTEL_${signal}_EXPORTER`);
    return draft;
}
/**
 * The specification has the address of one signal used as it is, and the general one as a base. One that ends as it would
 * anyway need not be exact, so that two of them, `…/v1/traces` and `…/v1/metrics`, can be one backend.
 */
function putExactness(draft, signal) {
    const place = `OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`;
    if (draft.places['endpoint'] !== place)
        return;
    const path = String(draft.fields['endpoint'])
        .replace(/[?#].*$/, '')
        .replace(/\/+$/, '');
    if (!path.endsWith(`/v1/${signal.toLowerCase()}`))
        put(draft, 'exact_endpoint', true, place);
}
const TEMPORALITY = 'OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE';
// Those of the signal stand after the general ones and so win over them, name by name.
function putHeaders(draft, env, signal) {
    const names = ['OTEL_EXPORTER_OTLP_HEADERS', `OTEL_EXPORTER_OTLP_${signal}_HEADERS`].filter(name => variable(env, name));
    const text = names.map(name => variable(env, name)).join();
    if (names.length > 0)
        put(draft, 'headers', text, names.join(', '));
}
function put(draft, field, value, place) {
    if (value === undefined)
        return;
    draft.fields[field] = value;
    draft.places[field] = place;
}
function sameTransport(one, other) {
    return transportOf(one) === transportOf(other);
}
/** Two full URLs of one receiver, `…/v1/traces` and `…/v1/metrics`, are the same address. */
function transportOf({ fields }) {
    const endpoint = String(fields['endpoint']);
    const address = fields['exact_endpoint']
        ? endpoint
        : endpoint.replace(/\/+$/, '').replace(/\/v1\/(traces|metrics|logs)$/, '');
    const { endpoint: _url, traces: _t, metrics: _m, logs: _l, name: _n, ...rest } = fields;
    return JSON.stringify([address, Object.entries(rest).sort()]);
}
function consoleDrafts(env) {
    if (!exporterNames(env, 'TRACES')?.includes('console'))
        return [];
    const draft = { fields: emptyMap(), places: emptyMap() };
    put(draft, 'type', 'console', 'OTEL_TRACES_EXPORTER');
    return [draft];
}
const KNOWN_EXPORTERS = { TRACES: ['otlp', 'console', 'none'], METRICS: ['otlp', 'prometheus', 'none'] };
function warnAboutExporters(site) {
    for (const signal of ['TRACES', 'METRICS']) {
        for (const name of exporterNames(site.env, signal) ?? []) {
            const known = KNOWN_EXPORTERS[signal];
            if (known.includes(name))
                continue;
            const variableName = `OTEL_${signal}_EXPORTER`;
            report({ ...site, place: () => variableName }, refuse(name, alternatives(known)).reason, 'ignoring it');
        }
    }
}
