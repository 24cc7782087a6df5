import { type DiffLine, diffLines } from './argument-lines.ts'
import { isRecord } from './attribute-value.ts'

/** Names of the old and the new text, per agent. */
const EDITS = [
  ['old_string', 'new_string'],
  ['oldString', 'newString'],
  ['old_str', 'new_str'],
  ['oldText', 'newText'],
  ['old_text', 'new_text'],
  ['old', 'new'],
  ['search', 'replace'],
] as const
/** Fields that hold several edits, or a patch. */
const NESTED: ReadonlySet<string> = new Set(['edits', 'changes', 'operation', 'operations', 'input', 'command'])
const PATCHES: ReadonlySet<string> = new Set(['diff', 'patch', 'patchText', 'unified_diff'])
const MAX_EDITS = 100
const MAX_DEPTH = 4

/** The edit in the arguments of a tool as lines of a diff: old and new text, a list of such pairs, or a patch. */
export function editLines(value: unknown, depth = 0): readonly DiffLine[] {
  if (typeof value === 'string') return /^(?:\*\*\* Begin Patch|@@ |<{5,} SEARCH)/m.test(value) ? patchLines(value) : []
  if (depth === MAX_DEPTH || typeof value !== 'object' || value === null) return []
  if (!isRecord(value))
    return Object.values(value)
      .slice(0, MAX_EDITS)
      .flatMap(each => editLines(each, depth + 1))
  for (const [old, fresh] of EDITS) {
    const [before, after] = [value[old], value[fresh]]
    if (typeof before === 'string' && typeof after === 'string') {
      return diffLines(splitText(before), splitText(after))
    }
  }
  return Object.entries(value).flatMap(([name, entry]) => {
    if (PATCHES.has(name) && typeof entry === 'string') return /^[-+]/m.test(entry) ? patchLines(entry) : []
    return NESTED.has(name) ? editLines(entry, depth + 1) : []
  })
}

function splitText(text: string): string[] {
  return text === '' ? [] : text.split('\n')
}

/** Signs of a unified diff, or of a block between `<<<<<<< SEARCH`, `=======` and `>>>>>>> REPLACE`. */
function patchLines(text: string): DiffLine[] {
  let block: DiffLine['sign'] | undefined
  return text.split('\n').map(line => {
    if (/^<{5,} /.test(line)) block = '-'
    else if (/^={5,}$/.test(line) && block === '-') block = '+'
    else if (/^>{5,} /.test(line)) block = undefined
    else if (block !== undefined) return { sign: block, text: line }
    else if (/^[-+](?![-+]{2} )/.test(line)) return { sign: line.startsWith('+') ? '+' : '-', text: line.slice(1) }
    return { sign: ' ', text: line }
  })
}
