import { METRIC, resolveNamespace } from '../semconv/index.js';
import { INSTRUMENTS } from './instrument-table.js';
import { LabelLimit } from './label-limit.js';
/** Label sets per counter; the SDK's own limit per instrument is the same, but it would drop them without a word. */
const SERIES_LIMIT = 2000;
const OVERFLOW = { overflow: 'true' };
/**
 * Counters are summed in plain maps and handed over at collection: in the SDK a point with labels costs about as much as
 * a whole span, because it sorts and stringifies the labels each time. Histograms must go through it.
 */
class Counter {
    #series = new Map();
    add(value, labels) {
        const key = keyOf(labels);
        const series = this.#series.get(key);
        if (series === undefined)
            this.#open(key, value, labels);
        else
            series.sum += value;
    }
    observe(result) {
        for (const { labels, sum } of this.#series.values())
            result.observe(sum, labels);
    }
    #open(key, value, labels) {
        if (this.#series.size < SERIES_LIMIT)
            this.#series.set(key, { labels, sum: value });
        else if (labels !== OVERFLOW)
            this.add(value, OVERFLOW);
        else
            this.#series.set(key, { labels, sum: value });
    }
}
function keyOf(labels) {
    let key = '';
    for (const name in labels)
        key += `${labels[name]}\u0000`;
    return key;
}
/** All instruments, built from the table once. */
export class Instruments {
    #counters = new Map();
    #histograms = new Map();
    #limit;
    constructor(meter, options, gauges) {
        this.#limit = new LabelLimit(options.labelLimit);
        for (const [key, row] of Object.entries(INSTRUMENTS)) {
            const name = resolveNamespace(METRIC[key], options.namespace);
            if (options.emitGenAi || !name.startsWith('gen_ai.'))
                this.#build(meter, key, name, row, gauges[key]);
        }
    }
    record(points) {
        for (const { instrument, value, labels } of points)
            this.add(instrument, value, labels);
    }
    add(instrument, value, labels) {
        if (!Number.isFinite(value) || value < 0)
            return;
        const limited = this.#limit.apply(labels);
        const counter = this.#counters.get(instrument);
        if (counter !== undefined)
            counter.add(value, limited);
        else
            this.#histograms.get(instrument)?.record(value, limited);
    }
    #build(meter, key, name, row, gauge) {
        const { unit, description } = row;
        if (row.kind === 'histogram') {
            const advice = { explicitBucketBoundaries: [...(row.buckets ?? [])] };
            this.#histograms.set(key, meter.createHistogram(name, { unit, description, advice }));
        }
        else if (row.kind === 'counter') {
            const counter = new Counter();
            this.#counters.set(key, counter);
            const observe = gauge ?? (result => counter.observe(result));
            meter.createObservableCounter(name, { unit, description }).addCallback(observe);
        }
        else if (gauge !== undefined) {
            const create = row.kind === 'gauge' ? 'createObservableGauge' : 'createObservableUpDownCounter';
            meter[create](name, { unit, description }).addCallback(gauge);
        }
    }
}
