import { isShownField } from './backend-types.js';
import { shownUrl } from './endpoint.js';
import { KEY_NAMES, KEY_ROWS } from './keys.js';
import { showName } from './problems.js';
const SET = '<set>';
/** What is in force and where it came from, in the order of the table; secrets as `<set>`. */
export function showConfig(resolution) {
    return KEY_NAMES.flatMap(key => {
        const source = showSource(resolution.sources.get(key));
        const { backends } = resolution.config;
        if (key !== 'backends' || backends.length === 0) {
            return [{ key, value: showValue(key, resolution.config[key]), source }];
        }
        return backends.map((backend, index) => ({ key: `backends[${index}]`, value: showBackend(backend), source }));
    });
}
function showSource(source) {
    if (!source || source.from === 'default')
        return source?.detail ? `default (${source.detail})` : 'default';
    return source.detail ?? source.from;
}
function showValue(key, value) {
    if (value === undefined)
        return KEY_ROWS[key].type === 'prometheus' ? 'off' : 'none';
    if (typeof value !== 'object' || value === null)
        return String(value);
    if (KEY_ROWS[key].type === 'prometheus')
        return showAddress(value);
    const size = Object.keys(value).length;
    if (size === 0)
        return 'none';
    if (KEY_ROWS[key].private)
        return `${SET} (${size})`;
    return Array.isArray(value) ? value.join(', ') : showPairs(value);
}
function showAddress({ host, port }) {
    return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
function showPairs(map) {
    return Object.entries(map)
        .map(([name, value]) => `${name}=${value}`)
        .join(', ');
}
function showBackend({ type, name, endpoint, headers, options, ...rest }) {
    const own = Object.entries(options).map(([option, value]) => [showName(option), showOption(option, value)]);
    const fields = {
        type,
        ...(name === type ? {} : { name }),
        ...(endpoint === undefined ? {} : { endpoint: shownUrl(endpoint) ?? SET }),
        ...rest,
        ...Object.fromEntries(own),
    };
    const shownHeaders = Object.keys(headers).map(header => `${showName(header)}: ${SET}`);
    const parts = Object.entries(fields).map(([field, value]) => `${field}=${String(value)}`);
    return [...parts, ...(shownHeaders.length > 0 ? [`headers={${shownHeaders.join(', ')}}`] : [])].join(' ');
}
function showOption(option, value) {
    if (!isShownField(option))
        return SET;
    return option === 'base_url' ? (shownUrl(value) ?? SET) : value;
}
