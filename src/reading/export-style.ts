/** Levels with an indent of their own; deeper ones share the last. */
export const MAX_INDENT = 12

const LIGHT = `--ground:#fff;--text:#161616;--quiet:#5c5c5c;--line:#d8d8d8;--panel:#f5f5f5;--bad:#b3261e;--good:#0f6b4f;
--warn:#8a5a00;--session:#161616;--llm:#5c5c5c;--api:#0072b2;--tool:#8a3b75;--subagent:#a8480a;--approval:#8a5a00;--other:#5c5c5c`
const DARK = `--ground:#161616;--text:#f0f0f0;--quiet:#b0b0b0;--line:#3a3a3a;--panel:#222;--bad:#ff8a80;--good:#5ad1a5;
--warn:#e6b450;--session:#f0f0f0;--llm:#b0b0b0;--api:#56b4e9;--tool:#e29fcb;--subagent:#f08c50;--approval:#e6b450;--other:#b0b0b0`

const indents = Array.from({ length: MAX_INDENT }, (_, depth) => `.d${depth + 1}{padding-left:${(depth + 1) * 1.1}rem}`)

const TONES: readonly (readonly [string, string])[] = [
  ['session', 'session'],
  ['llm', 'llm'],
  ['api', 'api'],
  ['auxiliary', 'api'],
  ['tool', 'tool'],
  ['subagent', 'subagent'],
  ['approval', 'approval'],
  ['hook', 'other'],
  ['skill', 'other'],
  ['other', 'other'],
  ['ok', 'good'],
  ['warn', 'warn'],
  ['error', 'bad'],
  ['dim', 'quiet'],
]

/** The whole style of an exported page. No element has a style attribute: the policy allows only this text, by its hash. */
export const EXPORT_STYLE: string = `:root{color-scheme:light dark;${LIGHT}}
@media (prefers-color-scheme:dark){:root{${DARK}}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:80rem;padding:1rem;background:var(--ground);color:var(--text);
font:15px/1.45 system-ui,sans-serif}
h1{font-size:1.3rem;margin:.2rem 0}h2{font-size:1.05rem;margin:2rem 0 .2rem}
p{margin:.2rem 0}
ul{margin:.3rem 0}
.note{border:1px solid var(--line);padding:.5rem .8rem;margin:1rem 0}
.span{border-top:1px solid var(--line)}
.span>summary{display:grid;grid-template-columns:minmax(10rem,1fr) 12rem 5.5rem 9rem 10rem;gap:.8rem;padding:.25rem 0;
cursor:pointer;list-style:none}
.span>summary::-webkit-details-marker{display:none}
.span>summary:focus-visible{outline:2px solid var(--api)}
.span[open]>summary{background:var(--panel)}
.title{overflow:hidden;text-overflow:ellipsis;white-space:nowrap}
.title::before{content:'▸ ';color:var(--quiet)}
.span[open] .title::before{content:'▾ '}
.figure{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
.ending{overflow-wrap:anywhere}
.path{fill:var(--text)}.path.person{fill:var(--approval)}.path.gap{fill:var(--line)}
.fold>.span{margin-left:1rem}
svg{width:100%;height:.7rem;align-self:center;background:var(--panel)}
.body{background:var(--panel);padding:.3rem 1rem 1rem}
dl{display:grid;grid-template-columns:minmax(8rem,16rem) 1fr;gap:.15rem 1rem;margin:.4rem 0}
dt{color:var(--quiet);overflow-wrap:anywhere}dd{margin:0;min-width:0}
pre{margin:0;white-space:pre-wrap;overflow-wrap:anywhere;font:13px/1.4 ui-monospace,monospace}
${TONES.map(([tone, color]) => `.${tone}{color:var(--${color})}rect.${tone}{fill:var(--${color})}`).join('')}
.strong{font-weight:600}
${indents.join('')}
@media (max-width:700px){.span>summary{grid-template-columns:1fr auto}.span>summary svg,.tokens,.ending{display:none}
dl{grid-template-columns:1fr}}`
