/** The sixteen colours that every terminal theme defines, so that the tree looks at home in each. */
const CODES = {
    session: '1',
    llm: '94',
    api: '36',
    tool: '35',
    subagent: '95',
    approval: '33',
    skill: '96',
    auxiliary: '36',
    other: '',
    ok: '32',
    warn: '33',
    error: '31',
    dim: '2',
    plain: '',
    strong: '1',
};
/** One line of the terminal, without blanks at its end. */
export function paintLine(segments, color) {
    const filled = [...segments];
    while (filled.at(-1)?.text.trim() === '')
        filled.pop();
    return filled
        .map(({ tone, text }, index) => paint(tone, index === filled.length - 1 ? text.trimEnd() : text, color))
        .join('');
}
function paint(tone, text, color) {
    const code = CODES[tone];
    return color && code !== '' && text.trim() !== '' ? `\x1b[${code}m${text}\x1b[0m` : text;
}
