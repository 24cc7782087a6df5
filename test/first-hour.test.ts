import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { OtlpSink } from './support/otlp-sink.ts'
import { ROOT, read } from './support/pages.ts'

/** A block of the page: what is typed, and what is printed; or a file that is written, its name in its first line. */
interface Step {
  readonly language: string
  readonly body: string
  /** The code that the command ends with, from the comment before the block. */
  readonly exit: number
  /** The block behind it. */
  printed: string | undefined
}

function stepsOf(page: string): Step[] {
  const steps: Step[] = []
  for (const [, exit, language = '', body = ''] of page.matchAll(
    /(?:<!-- exits with (\d+) -->\n)?^```(\w+)\n([\s\S]*?)^```/gm,
  )) {
    const last = steps.at(-1)
    if (language === 'text' && last !== undefined) last.printed = body
    else steps.push({ language, body, exit: Number(exit ?? 0), printed: undefined })
  }
  return steps
}

/** `…` stands for a piece of a line, and alone on a line for any lines. */
function patternOf(printed: string): RegExp {
  const lines = printed.trimEnd().split('\n')
  const parts = lines.map(line =>
    line.trim() === '…' ? '(?:[^\\n]*\\n)*?' : `${line.split('…').map(escaped).join('[^\\n]*')} *\\n`,
  )
  return new RegExp(`^\\s*${parts.join('')}\\s*$`)
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')
}

const PAGE = 'docs/first-hour.md'
const steps = stepsOf(read(PAGE))
const project = mkdtempSync(join(tmpdir(), 'hookspan-first-hour-'))
const bin = join(project, 'node_modules', '.bin')
let jaeger: OtlpSink

/** A project in which the package is installed; what a person would install and start is there already. */
beforeAll(async () => {
  jaeger = await OtlpSink.start()
  mkdirSync(bin, { recursive: true })
  mkdirSync(join(project, 'home'))
  symlinkSync(ROOT, join(project, 'node_modules', 'hookspan'))
  writeFileSync(join(project, 'package.json'), '{ "private": true }\n')
  const main = join(ROOT, 'dist', 'cli', 'main.js')
  writeFileSync(join(bin, 'hookspan'), `#!/bin/sh\nexec '${process.execPath}' '${main}' "$@"\n`, { mode: 0o755 })
  // npm's own does no more here, and takes longer than everything else on the page.
  writeFileSync(join(bin, 'npx'), `#!/bin/sh\nexec "./node_modules/.bin/$@"\n`, { mode: 0o755 })
})

afterAll(async () => {
  await jaeger.stop()
  rmSync(project, { recursive: true, force: true })
})

/** What the last step printed: of a trace that is named by its id, the id is there. */
let lastPrinted = ''

/** As it is typed, but for what the test has done already, or has another address or id for. */
function typed(body: string): string {
  const [traceId = ''] = /\b[0-9a-f]{8}$/m.exec(lastPrinted) ?? []
  return body
    .replace(/^(?:npm install|docker compose) .*$/gm, ':')
    .replaceAll('--backend jaeger', `--backend jaeger=${jaeger.url}`)
    .replace('[jaeger]', `['jaeger=${jaeger.url}']`)
    .replace(/(?<=tree )[0-9a-f]{8}$/m, traceId)
}

/** Both streams, as a terminal would show them. Not synchronously: the server that it may talk to is in this process. */
function run(script: string): Promise<{ readonly code: number | null; readonly out: string }> {
  const child = spawn('bash', ['-e', '-c', `exec 2>&1\n${script}`], {
    cwd: project,
    env: { PATH: `${bin}:${process.env['PATH']}`, HOME: join(project, 'home'), COLUMNS: '100' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let out = ''
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    out += chunk
  })
  return new Promise(resolve => child.on('close', code => resolve({ code, out })))
}

describe(PAGE, () => {
  test.each(steps.map((step, index) => ({ ...step, title: `${index}: ${step.body.split('\n')[0]}` })))(
    'has the output of step $title',
    async ({ language, body, exit, printed }) => {
      if (language !== 'sh') {
        const [, name = ''] = /^\/\/ (\S+)\n/.exec(body) ?? []
        expect(name).not.toBe('')
        writeFileSync(join(project, name), body)
        return
      }
      const { code, out } = await run(typed(body))
      expect(code, out).toBe(exit)
      if (printed !== undefined) expect(out).toMatch(patternOf(printed))
      lastPrinted = out
    },
  )
})
