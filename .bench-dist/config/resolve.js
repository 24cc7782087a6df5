import { KEY_NAMES, KEY_ROWS } from './keys.js';
import { loadConfigFile } from './load.js';
import { otelOffer } from './otel.js';
import { otelBackends } from './otel-backends.js';
import { emptyMap } from './plain.js';
import { Problems } from './problems.js';
import { readValue } from './read-value.js';
import { codeOptions, codeSource, environmentSource, fileSource, readInput, warnAboutUnknownKeys, warnAboutVariables, } from './sources.js';
/**
 * Puts defaults, file, environment and options in code together, the later ones winning key by key (the maps: entry by
 * entry). Never throws, whatever it is given: what cannot be used is a problem, and the next lower source's value counts.
 *
 * @example resolveConfig({ code: { sample_rate: 0.1 }, hostName: 'pi' }).config.service_name // 'pi'
 */
export function resolveConfig(input) {
    const given = readInput(input);
    const problems = new Problems();
    const resolver = new Resolver(given, collectSources(given, problems), problems);
    return { ...resolver.resolve(), problems: problems.found };
}
function collectSources(given, problems) {
    const file = loadConfigFile(given.env, given.home, problems);
    const options = codeOptions(given.code, problems);
    const [ofFile, ofCode] = [file && fileSource(file), codeSource(options)];
    if (file && ofFile)
        warnAboutUnknownKeys(file.values, ofFile, problems);
    warnAboutVariables(given.env, problems);
    warnAboutUnknownKeys(options, ofCode, problems);
    return [...(ofFile ? [ofFile] : []), environmentSource(given.env), ofCode];
}
class Resolver {
    #given;
    #sources;
    #problems;
    #held = new Map();
    #rejected = [];
    constructor(given, sources, problems) {
        this.#given = given;
        this.#sources = sources;
        this.#problems = problems;
    }
    resolve() {
        for (const key of KEY_NAMES)
            this.#resolveKey(key);
        for (const key of KEY_NAMES)
            this.#follow(key);
        // Only now is it known what is used instead.
        for (const { key, reason, place, level } of this.#rejected) {
            this.#problems.add(level, key, reason, place, `using ${shown(KEY_ROWS[key], this.#get(key))}`);
        }
        this.#fitBatch();
        const config = {};
        for (const key of KEY_NAMES)
            config[key] = frozen(this.#get(key).value);
        const sources = new Map(KEY_NAMES.map(key => [key, this.#get(key).source]));
        return { config: Object.freeze(config), sources };
    }
    #resolveKey(key) {
        this.#held.set(key, defaultOf(KEY_ROWS[key], this.#given.hostName));
        for (const source of this.#sources) {
            if (source.from === 'environment')
                this.#takeOtel(key);
            const site = this.#site(key, source.place, 'error');
            const detail = source.from === 'code' ? {} : { detail: source.place(key) };
            this.#take(site, readValue(KEY_ROWS[key], source.value(key), site), { from: source.from, ...detail });
        }
        if (key === 'backends' && this.#get(key).source.from === 'default')
            this.#takeOtelBackends();
    }
    #takeOtel(key) {
        const site = this.#site(key, () => 'environment', 'warning');
        const offer = otelOffer(key, this.#get(key).value, site);
        if (!offer)
            return;
        const { place, reading } = offer;
        this.#take({ ...site, place: () => place }, reading, { from: 'environment', detail: place });
    }
    #takeOtelBackends() {
        const found = otelBackends(this.#site('backends', () => 'environment', 'warning'));
        if (!found)
            return;
        this.#held.set('backends', { value: found.backends, source: { from: 'environment', detail: found.place } });
    }
    #take(site, reading, source) {
        const key = site.path;
        if (!reading)
            return;
        if ('reason' in reading) {
            this.#rejected.push({ key, reason: reading.reason, place: site.place(key), level: site.level });
            return;
        }
        const value = { value: reading.value, source };
        this.#held.set(key, KEY_ROWS[key].type === 'map' ? merged(this.#get(key), value) : value);
    }
    #follow(key) {
        const { follows } = KEY_ROWS[key];
        if (follows && this.#get(key).value === undefined)
            this.#held.set(key, this.#get(follows));
    }
    // The SDK would correct this too, but only into a log that nobody reads.
    #fitBatch() {
        const [batch, queue] = [this.#get('span_batch_max_export_batch_size'), this.#get('span_batch_max_queue_size')];
        if (Number(batch.value) <= Number(queue.value))
            return;
        this.#held.set('span_batch_max_export_batch_size', queue);
        if (batch.source.from === 'default')
            return;
        const text = `${batch.value} is more than span_batch_max_queue_size`;
        const place = batch.source.detail ?? batch.source.from;
        this.#problems.add('warning', 'span_batch_max_export_batch_size', text, place, `using ${queue.value}`);
    }
    #site(key, place, level) {
        const { env, home } = this.#given;
        return { path: key, name: key, level, problems: this.#problems, env, home, place };
    }
    #get(key) {
        return this.#held.get(key) ?? defaultOf(KEY_ROWS[key], undefined);
    }
}
// The service that Hermes runs as has always had this name in its dashboards.
const SERVICE_OF_HOST = new Map([['hermes', 'hermes-agent']]);
function defaultOf(row, hostName) {
    if (!row.fromHost || hostName === undefined)
        return { value: row.default, source: { from: 'default' } };
    return { value: SERVICE_OF_HOST.get(hostName) ?? hostName, source: { from: 'default', detail: 'name of the host' } };
}
function merged(below, above) {
    const value = Object.assign(emptyMap(), below.value, above.value);
    if (below.source.from === 'default')
        return { value, source: above.source };
    const [upper, lower] = [above, below].map(({ source }) => source.detail ?? source.from);
    return { value, source: { from: above.source.from, detail: `${upper}, then ${lower}` } };
}
function frozen(value) {
    return typeof value === 'object' ? Object.freeze(value) : value;
}
/** What is used instead of a value, as far as it may be shown. */
function shown(row, { value, source }) {
    const empty = typeof value === 'object' && value !== null && Object.keys(value).length === 0;
    if (value === undefined || empty)
        return 'none';
    if (typeof value !== 'object')
        return String(value);
    return row.private || row.type === 'map' || row.type === 'backends'
        ? `what ${source.detail ?? source.from} says`
        : Object.values(value).join(row.type === 'prometheus' ? ':' : ', ');
}
