import { bigintText, boundedJson } from './bounded-json.js';
import { literal, } from './capture.js';
import { clip, copyOf, keepAll, redactWithin, WINDOW_MARGIN, windowOf } from './clip.js';
import { peek, textOf } from './foreign.js';
import { rewriteJson } from './json-text.js';
import { oneLine, withoutControls } from './one-line.js';
import { isSecretKey } from './secret-keys.js';
const JSON_TYPE = literal('application/json');
const TEXT_TYPE = literal('text/plain');
const ID_CAP = 200;
const SNIPPET_CAP = 500;
const ID_CACHE_SIZE = 2000;
/** A longer text is not remembered: the memo would keep it alive. */
const MEMO_LIMIT = 256 * 1024;
/** Collapsing shortens a text: more of it is read than is kept. */
const SPACE_ALLOWANCE = 2;
function safe(text) {
    return text;
}
function isNumeric(value) {
    return typeof value === 'bigint' || (typeof value === 'number' && Number.isFinite(value));
}
function numberText(value) {
    return safe(typeof value === 'bigint' ? bigintText(value) : String(value));
}
class CapturePolicy {
    mode;
    conversationHistory;
    senderId;
    #settings;
    #ids = new Map();
    /** The same user message is asked for by several spans. Strings only: an object can change between two calls. */
    #last = new Map();
    #leaf;
    #isSecret;
    constructor(settings) {
        const { mode, redact } = settings;
        this.#settings = settings;
        this.mode = mode;
        this.conversationHistory = settings.conversationHistory && mode !== 'off';
        this.senderId = settings.senderId;
        this.#leaf = mode === 'full' ? redact : text => redact(withoutControls(text));
        this.#isSecret = redact === keepAll ? () => false : isSecretKey;
    }
    id(value) {
        if (typeof value !== 'string')
            return isNumeric(value) ? numberText(value) : undefined;
        const known = this.#ids.get(value);
        if (known !== undefined)
            return known;
        const { text } = this.#line(value, ID_CAP);
        if (text === '')
            return undefined;
        if (value.length <= ID_CAP)
            this.#remember(value, safe(text));
        return safe(text);
    }
    content(value, category) {
        if (this.mode === 'off')
            return undefined;
        const { categoryMaxChars, previewMaxChars, contentMaxChars } = this.#settings;
        const cap = this.mode === 'full' ? contentMaxChars : (categoryMaxChars[category] ?? previewMaxChars);
        if (typeof value !== 'string' || value.length > MEMO_LIMIT)
            return this.#captured(value, cap);
        const last = this.#last.get(category);
        if (last?.value === value)
            return last.captured;
        const captured = this.#captured(value, cap);
        this.#last.set(category, { value, captured });
        return captured;
    }
    snippet(value) {
        if (this.mode === 'off')
            return undefined;
        return typeof value === 'string' ? this.#snippetOf(value) : this.#captured(value, SNIPPET_CAP)?.text;
    }
    errorText(value) {
        const message = peek(value, 'message');
        // Of an error without a message there is its name.
        const said = textOf(message) ?? (message === '' ? textOf(peek(value, 'name')) : undefined);
        return this.snippet(said ?? value);
    }
    history(messages) {
        if (!this.conversationHistory)
            return undefined;
        const history = this.#captured(messages, this.#settings.conversationHistoryMaxChars);
        return history?.text === '[]' ? undefined : history;
    }
    json(value, maxChars = this.#settings.contentMaxChars) {
        const json = boundedJson(value, maxChars, keepAll, () => false);
        return json && safe(json.text);
    }
    #captured(value, cap) {
        if (cap <= 0)
            return undefined;
        if (typeof value === 'string')
            return this.#capturedText(value, cap);
        if (typeof value === 'object' && value !== null) {
            const json = boundedJson(value, cap, this.#leaf, this.#isSecret);
            return json && { text: safe(json.text), mimeType: JSON_TYPE, truncated: json.truncated };
        }
        if (typeof value !== 'boolean' && !isNumeric(value))
            return undefined;
        const { text, isCut } = clip({ text: String(typeof value === 'boolean' ? value : numberText(value)), isCut: false }, cap);
        return { text: safe(text), mimeType: TEXT_TYPE, truncated: isCut };
    }
    #capturedText(value, cap) {
        const json = this.#capturedJson(value, cap);
        if (json !== undefined)
            return json;
        const { text, isCut } = this.mode === 'full' ? this.#whole(value, cap) : this.#line(value, cap);
        return text.trim() === '' ? undefined : { text: safe(text), mimeType: TEXT_TYPE, truncated: isCut };
    }
    /** JSON text stays JSON, also when it has to be cut: a view of it would otherwise show a broken half. */
    #capturedJson(value, cap) {
        const window = windowOf(value, cap * SPACE_ALLOWANCE + WINDOW_MARGIN);
        const first = window.text.trimStart().charAt(0);
        if (first !== '{' && first !== '[')
            return undefined;
        const json = rewriteJson(window.text, cap, {
            leaf: this.#leaf,
            isSecret: this.#isSecret,
            keepsSpace: this.mode === 'full',
        });
        return json && { text: safe(json.text), mimeType: JSON_TYPE, truncated: json.truncated || window.isCut };
    }
    #whole(value, cap) {
        return clip(redactWithin({ text: value, isCut: false }, cap, this.#settings.redact), cap);
    }
    #line(value, cap) {
        const window = windowOf(value, cap * SPACE_ALLOWANCE + WINDOW_MARGIN);
        // A space at the end of the window says that the last word is whole.
        const ending = window.isCut && /\s$/.test(window.text) ? ' ' : '';
        const flat = { text: oneLine(window.text) + ending, isCut: window.isCut };
        const redacted = redactWithin(flat, cap, this.#settings.redact);
        return clip(redacted.isCut ? { text: redacted.text.trimEnd(), isCut: true } : redacted, cap);
    }
    #snippetOf(value) {
        const { text } = this.#line(value, SNIPPET_CAP);
        return text === '' ? undefined : safe(text);
    }
    #remember(value, id) {
        if (this.#ids.size >= ID_CACHE_SIZE)
            this.#ids.clear();
        this.#ids.set(copyOf(value), id);
    }
}
/** The capture policy, compiled once: what of a payload may leave the process, and in which form. */
export function createCapture(settings) {
    return new CapturePolicy(settings);
}
