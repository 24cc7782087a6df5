import { alternatives } from './problems.js';
import { refuse } from './reading.js';
// setTimeout and setInterval take any longer time for one millisecond.
const MAX_TIMER_MILLIS = 2_147_483_647;
const WORDS = new Map([
    ['true', true],
    ['yes', true],
    ['on', true],
    ['1', true],
    ['false', false],
    ['no', false],
    ['off', false],
    ['0', false],
]);
/** Text too: environment variables, and every scalar of a file, arrive as text. */
export function readBool(value) {
    const word = isScalar(value) ? WORDS.get(String(value).trim().toLowerCase()) : undefined;
    return word === undefined ? refuse(value, 'true or false') : { value: word };
}
export function readNumber(value, range) {
    return readFigure(value, 'a number', range);
}
export function readInteger(value, range) {
    const reading = readFigure(value, 'a whole number', range);
    return 'value' in reading && !Number.isSafeInteger(reading.value)
        ? refuse(value, expectation('a whole number', range))
        : reading;
}
/** A duration in milliseconds that a timer can keep. */
export function readMillis(value, range) {
    const reading = readFigure(value, 'a number', range);
    const tooLong = 'value' in reading && reading.value > MAX_TIMER_MILLIS;
    return tooLong ? refuse(value, `a number ≤ ${MAX_TIMER_MILLIS}`) : reading;
}
function readFigure(value, noun, range) {
    const figure = toFigure(value);
    const fits = figure >= (range.min ?? Number.NEGATIVE_INFINITY) && figure <= (range.max ?? Number.POSITIVE_INFINITY);
    return fits ? { value: figure } : refuse(value, expectation(noun, range));
}
// NaN fits no range. Number() alone would take '', '0x1f' and ' ' for numbers.
function toFigure(value) {
    if (typeof value === 'number')
        return Number.isFinite(value) ? value : Number.NaN;
    if (typeof value !== 'string')
        return Number.NaN;
    const figure = /^\s*[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?\s*$/i.test(value) ? Number(value) : Number.NaN;
    return Number.isFinite(figure) ? figure : Number.NaN;
}
function expectation(noun, { min, max }) {
    if (min !== undefined && max !== undefined)
        return `${noun} from ${min} to ${max}`;
    return min === undefined ? noun : `${noun} ≥ ${min}`;
}
const NAMESPACE = /^[A-Za-z][A-Za-z0-9_]*(\.[A-Za-z0-9_]+)*$/;
export function readText(value, pattern) {
    if (typeof value !== 'string')
        return refuse(value, 'text');
    const text = value.trim();
    if (pattern === 'namespace' && !NAMESPACE.test(text))
        return refuse(value, 'letters, digits, "_" and "."');
    return { value: text };
}
export function readWord(value, words) {
    // `off` is a boolean in YAML 1.1, in JSON there is only false: both mean the word where there is one.
    const word = value === false ? 'off' : typeof value === 'string' ? value.trim().toLowerCase() : undefined;
    return word !== undefined && words.includes(word) ? { value: word } : refuse(value, alternatives(words));
}
export function isScalar(value) {
    return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
}
