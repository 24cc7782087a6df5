import type { SpanRow } from '../../../src/viewer/server/api.ts'

/** Rows out of an indented text: `kind name from-to`, two blanks a level; `…` in the place of an end is open, `!` behind it failed. */
export function rowsOf(text: string): SpanRow[] {
  const lines = text.split('\n').filter(line => line.trim() !== '')
  const least = Math.min(...lines.map(line => line.search(/\S/)))
  const rows: SpanRow[] = []
  const above: number[] = []
  for (const line of lines) {
    const depth = (line.search(/\S/) - least) / 2
    const [, kind = '', id = '', from = '', to = '', failed = '', attempt = ''] =
      /^\s*(\w+) (\S+) (\d+)-(\d+|…)(!?)(?: (attempt \d))?$/.exec(line) ?? []
    above[depth] = rows.length
    rows.push({
      id,
      parent: depth === 0 ? -1 : (above[depth - 1] as number),
      depth,
      kind: kind as SpanRow['kind'],
      name: id,
      startAt: Number(from),
      endAt: to === '…' ? Number(from) : Number(to),
      state: to === '…' ? 'open' : 'ended',
      ...(failed !== '' && { isError: true }),
      ...(attempt !== '' && { attempt }),
    })
  }
  return rows
}
