import { planBackend } from './backend-plan.js';
import { baseUrl } from './endpoint.js';
/** Where Phoenix files traces without a project name. */
const DEFAULT_PROJECT = 'default';
/** Where one trace can be looked at, and how it can be asked for. Empty for a backend that is not set up rightly. */
export function traceLinks(settings, traceId, projectName) {
    const planned = planBackend(settings);
    if (!planned.ok)
        return {};
    const { plan } = planned;
    const fill = (template) => filled(template, placeholders(plan, traceId, projectName));
    const { traceView, readBack } = plan.row;
    return {
        ...(traceView === undefined ? {} : { view: fill(traceView) }),
        ...(readBack ? { readBack: readBackRequest(plan, readBack, fill) } : {}),
    };
}
function readBackRequest(plan, readBack, fill) {
    const { 'content-type': _ofThePost, ...headers } = plan.headers;
    return { url: fill(readBack.url), headers: readBack.authenticated ? headers : {}, found: readBack.found };
}
function placeholders(plan, traceId, projectName) {
    const base = baseUrl(plan.urls.traces ?? plan.urls.metrics ?? '') ?? '';
    const values = { project: projectName ?? DEFAULT_PROJECT };
    for (const [key, option] of Object.entries(plan.options)) {
        if (option !== undefined && !plan.row.options[key]?.secret)
            values[key] = option;
    }
    return { ...values, base, hostname: base && new URL(base).hostname, trace_id: traceId };
}
function filled(template, values) {
    return template.replace(/\{(\w+)\}/g, (_whole, name) => {
        const value = values[name] ?? '';
        return name === 'base' || name === 'base_url' ? value.replace(/\/+$/, '') : encodeURIComponent(value);
    });
}
