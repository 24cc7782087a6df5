import { keepAll, redactWithin } from './clip.js';
import { JsonWriter } from './json-writer.js';
import { MASK } from './secret-span.js';
const SPACE = /[ \t\n\r]*/y;
/** Up to its closing quote, or to where it stops being a string. */
const STRING = /"[ !#-[\]-\uffff]*(?:\\(?:["\\/bfnrt]|u[\da-fA-F]{4})[ !#-[\]-\uffff]*)*/y;
const CUT_ESCAPE = /\\(?:u[\da-fA-F]{0,3})?$/y;
const NUMBER_CHARACTERS = /[-+.\deE]+/y;
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const LITERALS = ['true', 'false', 'null'];
class JsonTextWalk {
    writer;
    #text;
    #rewrite;
    #open = [];
    #at = 0;
    #expected = 'value';
    /** Comma, key and colon that wait for their value. */
    #lead = '';
    #isUnderSecretKey = false;
    /** The number of open containers around a masked one, whose inside is read but not written. */
    #mutedAt = Number.POSITIVE_INFINITY;
    constructor(text, maxChars, rewrite) {
        this.writer = new JsonWriter(maxChars);
        this.#text = text;
        this.#rewrite = rewrite;
    }
    /** False when the text is not the head of any JSON. */
    run() {
        let step = 'go on';
        while (step === 'go on' && !this.writer.isFull) {
            const gap = this.#match(SPACE);
            if (this.#at >= this.#text.length)
                break;
            if (this.#rewrite.keepsSpace && !this.#isMuted)
                this.#lead += gap;
            step = this.#step();
        }
        if (step === 'malformed')
            return false;
        if (this.#expected !== 'end')
            this.writer.isTruncated = true;
        for (const bracket of this.#open.slice(0, this.#mutedAt).reverse())
            this.writer.close(bracket === '{' ? '}' : ']');
        return true;
    }
    get #isMuted() {
        return this.#open.length > this.#mutedAt;
    }
    #step() {
        const character = this.#text.charAt(this.#at);
        switch (this.#expected) {
            case 'value':
                return this.#value(character);
            case 'first element':
                return character === ']' ? this.#close('[') : this.#value(character);
            case 'first key':
                return character === '}' ? this.#close('{') : this.#key(character);
            case 'key':
                return this.#key(character);
            case 'colon':
                return this.#punctuation(character, ':', 'value');
            case 'next':
                return this.#next(character);
            case 'end':
                return 'malformed';
        }
    }
    #value(character) {
        if (character === '{' || character === '[')
            return this.#openContainer(character);
        if (character === '"')
            return this.#stringValue();
        return character === '-' || (character >= '0' && character <= '9') ? this.#number() : this.#literal();
    }
    #openContainer(bracket) {
        this.#at++;
        if (this.#isUnderSecretKey && !this.#isMuted) {
            this.#put(lead => this.writer.scalar(lead, `"${MASK}"`));
            this.#mutedAt = this.#open.length;
        }
        else {
            this.#put(lead => this.writer.open(lead, bracket));
        }
        // When it did not fit there is nothing to close.
        if (!this.writer.isFull)
            this.#open.push(bracket);
        this.#isUnderSecretKey = false;
        this.#expected = bracket === '{' ? 'first key' : 'first element';
        return 'go on';
    }
    #close(bracket) {
        this.#at++;
        const isMuted = this.#isMuted;
        this.#open.pop();
        if (!isMuted) {
            if (this.#lead.length <= this.writer.room)
                this.writer.scalar(this.#lead, '');
            this.writer.close(bracket === '{' ? '}' : ']');
        }
        else if (!this.#isMuted) {
            this.#mutedAt = Number.POSITIVE_INFINITY;
        }
        this.#afterValue();
        return 'go on';
    }
    #next(character) {
        const bracket = this.#open.at(-1) ?? '[';
        if (character === (bracket === '{' ? '}' : ']'))
            return this.#close(bracket);
        return this.#punctuation(character, ',', bracket === '{' ? 'key' : 'value');
    }
    #punctuation(character, mark, expected) {
        if (character !== mark)
            return 'malformed';
        this.#at++;
        if (!this.#isMuted)
            this.#lead += mark;
        this.#expected = expected;
        return 'go on';
    }
    #key(character) {
        if (character !== '"')
            return 'malformed';
        const key = this.#string();
        if (typeof key === 'string')
            return key;
        if (key.isCut)
            return 'cut';
        this.#isUnderSecretKey = this.#rewrite.isSecret(key.text);
        if (!this.#isMuted)
            this.#lead += JSON.stringify(this.#redacted(key).text);
        this.#expected = 'colon';
        return 'go on';
    }
    #stringValue() {
        const value = this.#string();
        if (typeof value === 'string')
            return value;
        if (this.#isUnderSecretKey && value.text !== '')
            this.#put(lead => this.writer.scalar(lead, `"${MASK}"`));
        else
            this.#put(lead => this.writer.string(lead, this.#redacted(value)));
        if (value.isCut)
            return 'cut';
        this.#afterValue();
        return 'go on';
    }
    #redacted(value) {
        return redactWithin(value, this.writer.room - this.#lead.length, this.#rewrite.leaf);
    }
    #string() {
        const raw = this.#match(STRING).slice(1);
        const text = raw.includes('\\') ? JSON.parse(`"${raw}"`) : raw;
        if (this.#text[this.#at] === '"') {
            this.#at++;
            return { text, isCut: false };
        }
        const isCut = this.#at >= this.#text.length || this.#match(CUT_ESCAPE) !== '';
        return isCut ? { text, isCut } : 'malformed';
    }
    #number() {
        const token = this.#match(NUMBER_CHARACTERS);
        const isLast = this.#at >= this.#text.length;
        // Digits may be missing: no number is better than another number.
        if (isLast && (this.#open.length > 0 || !NUMBER.test(token)))
            return 'cut';
        return NUMBER.test(token) ? this.#scalar(token) : 'malformed';
    }
    #literal() {
        const rest = this.#text.slice(this.#at, this.#at + 5);
        const literal = LITERALS.find(each => rest.startsWith(each));
        if (literal === undefined)
            return LITERALS.some(each => each.startsWith(rest)) ? 'cut' : 'malformed';
        this.#at += literal.length;
        return this.#scalar(literal);
    }
    #scalar(token) {
        const isHidden = this.#isUnderSecretKey && !LITERALS.includes(token);
        this.#put(lead => this.writer.scalar(lead, isHidden ? `"${MASK}"` : token));
        this.#afterValue();
        return 'go on';
    }
    #put(write) {
        if (!this.#isMuted)
            write(this.#lead);
        this.#lead = '';
    }
    #afterValue() {
        this.#lead = '';
        this.#isUnderSecretKey = false;
        this.#expected = this.#open.length === 0 ? 'end' : 'next';
    }
    #match(pattern) {
        pattern.lastIndex = this.#at;
        const found = pattern.exec(this.#text)?.[0] ?? '';
        this.#at += found.length;
        return found;
    }
}
/**
 * JSON text, or the head of one that was cut, as valid JSON of at most `maxChars` characters. Undefined when the text
 * is not JSON. Cost is linear in the text: hand in a window, not the whole.
 */
export function rewriteJson(text, maxChars, rewrite) {
    const walk = new JsonTextWalk(text, maxChars, rewrite);
    if (text.trim() === '' || !walk.run())
        return undefined;
    if (walk.writer.text.trim() !== '')
        return { text: walk.writer.text, truncated: walk.writer.isTruncated };
    if (maxChars < 2)
        return undefined;
    return { text: maxChars < 5 ? '""' : '"..."', truncated: true };
}
/**
 * The head of a JSON text that was cut, as valid JSON of at most `maxChars` characters: cut at a safe place, open
 * strings end with `...`, containers are closed. Undefined when the head is not JSON at all. Linear in the head.
 */
export function closeJson(prefix, maxChars) {
    return rewriteJson(prefix, maxChars, { leaf: keepAll, isSecret: () => false, keepsSpace: false })?.text;
}
