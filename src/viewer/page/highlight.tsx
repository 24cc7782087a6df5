import type { ComponentChildren } from 'preact'

/** Longer texts stay plain from there on. */
const MAX_CHARS = 20_000
const KEYWORDS =
  'abstract|and|as|async|await|break|case|catch|class|const|continue|def|default|delete|do|done|elif|else|enum|esac|except|export|extends|false|False|fi|final|finally|fn|for|from|func|function|if|impl|implements|import|in|interface|is|let|match|mod|mut|new|nil|None|not|null|or|package|pass|private|protected|pub|public|raise|readonly|return|self|static|struct|super|switch|then|this|throw|trait|true|True|try|type|undefined|use|var|void|while|with|yield'
/** One pattern for all languages: comment, string (a key if a colon follows), number, keyword. Every repetition has a limit. */
const TOKEN = new RegExp(
  [
    String.raw`((?<![:\w])//[^\n]*|(?<=^|\s)#(?!\w*[{[(])[^\n]*|/\*[^]{0,1000}?\*/)`,
    String.raw`("(?:[^"\\\n]|\\.){0,400}"|(?<!\w)'(?:[^'\\\n]|\\.){0,400}'|${'`'}[^${'`'}]{0,400}${'`'})(\s{0,9}:)?`,
    String.raw`(?<![\w.])(\d[\d._]{0,40}(?:e[+-]?\d{1,5})?)(?!\w)`,
    String.raw`(?<![\w.-])(${KEYWORDS})(?![\w-])`,
  ].join('|'),
  'gm',
)

/** Code with its strings, numbers, comments and keywords in colour. All of it is text nodes. */
export function Code({ text }: { readonly text: string }) {
  return (
    <pre class="code">
      <code>{highlighted(text)}</code>
    </pre>
  )
}

function highlighted(text: string): ComponentChildren[] {
  const parts: ComponentChildren[] = []
  let from = 0
  for (const match of text.slice(0, MAX_CHARS).matchAll(TOKEN)) {
    const [whole, comment, string, colon, number] = match
    const name = comment ? 'tone-dim' : string ? (colon ? 'is-key' : 'tone-ok') : number ? 'is-number' : 'is-keyword'
    const token = string ?? whole
    parts.push(text.slice(from, match.index), <span class={name}>{token}</span>)
    from = match.index + token.length
  }
  parts.push(text.slice(from))
  return parts
}
