import { createHash } from 'node:crypto'
import { type CriticalPath, criticalPath } from './critical-path.ts'
import { spanRows } from './export-rows.ts'
import { EXPORT_STYLE } from './export-style.ts'
import { escapeHtml, segmentsHtml } from './html-text.ts'
import { countOf, humanDuration, humanInstant } from './human-figures.ts'
import { sharedContent, sharedContentLines } from './shared-content.ts'
import { asOf, type TraceTree } from './trace-forest.ts'
import { summarize } from './trace-summary.ts'
import { headerFigures, headerTime, headerTitle } from './tree-header.ts'

/**
 * Turns as one self-contained page: no script, no other file, no request, and all content escaped as text. Yielded in pieces,
 * because a session may be large.
 * @param now epoch milliseconds: the end of running spans in the drawing
 */
export function* exportHtml(stored: readonly TraceTree[], now: number): Generator<string, void> {
  const trees = stored.map(tree => asOf(tree, now))
  const [first] = trees
  const title = first === undefined ? 'No traces' : titleText(first, trees.length)
  yield `${head(title)}<body>\n<h1>${escapeHtml(title)}</h1>\n`
  yield `<p class="dim">${countOf(trees.length, 'trace')}, written by hookspan on ${escapeHtml(humanInstant(now))}</p>\n`
  yield* preview(trees)
  for (const tree of trees) yield* turn(tree)
  yield '</body>\n</html>\n'
}

function titleText(tree: TraceTree, count: number): string {
  const summary = summarize(tree)
  const segments = headerTitle(count > 1 ? { ...summary, turnNumber: undefined } : summary, tree.traceId)
  return segments.map(({ text }) => text).join('')
}

/** The policy is the first element because it applies only to what follows it. */
function head(title: string): string {
  const hash = createHash('sha256').update(EXPORT_STYLE).digest('base64')
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'">
<meta name="referrer" content="no-referrer">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<style>${EXPORT_STYLE}</style>
</head>
`
}

function* preview(trees: readonly TraceTree[]): Generator<string, void> {
  yield '<details class="note"><summary>What is in here, and what was masked or cut</summary>\n<ul>\n'
  for (const line of sharedContentLines(sharedContent(trees))) yield `<li>${escapeHtml(line.trim())}</li>\n`
  yield '</ul>\n</details>\n'
}

function* turn(tree: TraceTree): Generator<string, void> {
  const summary = summarize(tree)
  const path = criticalPath(tree)
  yield `<section>\n<h2>${segmentsHtml(headerTitle(summary, tree.traceId))}</h2>\n`
  yield `<p>${segmentsHtml(headerFigures(summary))}</p>\n<p>${escapeHtml(pathText(path))}</p>\n`
  yield `<p class="dim">${escapeHtml(headerTime(summary))} · trace ${escapeHtml(tree.traceId)}</p>\n`
  yield* spanRows(tree, path)
  yield '</section>\n'
}

/** `What was waited for: 6.2 s of work, 5.5 s of a person, 2.4 s between steps`. */
function pathText({ workMillis, personMillis, gapMillis, isProvisional }: CriticalPath): string {
  const parts: readonly (readonly [string, number])[] = [
    ['of work', workMillis],
    ['of a person', personMillis],
    ['between steps', gapMillis],
  ]
  const told = parts.filter(([, millis]) => millis > 0).map(([what, millis]) => `${humanDuration(millis)} ${what}`)
  return `What was waited for${isProvisional ? ' so far' : ''}: ${told.join(', ') || 'nothing'}`
}
