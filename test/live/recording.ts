import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { FIXTURES } from '../agents/shown.ts'

/** The module that records, to be imported by something in a host that `NODE_OPTIONS` does not reach: opencode. */
export const TAP_MODULE: string = fileURLToPath(new URL('tap.mjs', import.meta.url))

/** Longer texts are instructions and definitions of tools. Of them the beginning is kept: an error says there what it is. */
const LONGEST_TEXT = 400
const KEPT = 200

export function isRecording(): boolean {
  return process.env['HOOKSPAN_UPDATE_FIXTURES'] === '1'
}

/** What makes a process of a host record itself: nothing, unless fixtures are wanted. */
export function recordingEnvironment(home: string): Record<string, string> {
  if (!isRecording()) return {}
  return { HOOKSPAN_TAP_FILE: tapFile(home), NODE_OPTIONS: `--import=${TAP_MODULE}` }
}

/** Where the events of a home are kept for a fixture. */
export function tapFile(home: string): string {
  return join(home, 'tap.jsonl')
}

/**
 * Makes the events that a host has told in a home a fixture of this name; nothing, unless fixtures are wanted. The next
 * one begins after them.
 *
 * @param description what happens in it, in a line
 * @param hostPackage name and version. Default: what was installed
 * @throws when there are no events
 */
export function capture(
  home: string,
  host: string,
  scenario: string,
  description: string,
  hostPackage: string = process.env['HOOKSPAN_LIVE_PACKAGE'] ?? '',
): void {
  if (!isRecording()) return
  const path = tapFile(home)
  if (!existsSync(path)) throw new Error(`nothing was recorded for ${host}/${scenario}: no adapter was told anything`)
  const events = readFileSync(path, 'utf8').trimEnd().split('\n')
  const head = { fixture: { host, package: hostPackage, scenario, description } }
  const lines = [JSON.stringify(head), ...events.map(line => fixtureLine(line, home))]
  mkdirSync(join(FIXTURES, host), { recursive: true })
  writeFileSync(join(FIXTURES, host, `${scenario}.jsonl`), `${lines.join('\n')}\n`)
  rmSync(path)
}

/** An event as a fixture has it: without long texts, and without the paths of this machine. */
export function fixtureLine(line: string, home: string): string {
  return withoutMachine(shortened(line), home)
}

function shortened(line: string): string {
  return JSON.stringify(JSON.parse(line), (_, value: unknown) => {
    if (typeof value !== 'string' || value.length <= LONGEST_TEXT) return value
    return `${value.slice(0, KEPT)} <omitted ${value.length - KEPT}>`
  })
}

/** Paths of this machine, and the port that the model server happened to have. */
function withoutMachine(line: string, home: string): string {
  const hosts = process.env['HOOKSPAN_LIVE_DIR'] ?? ''
  const places = [
    [home, '/workspace'],
    // As some hosts make a name of a path.
    [dashed(home), '-workspace'],
    [home.slice(1), 'workspace'],
    [process.env['HOOKSPAN_LIVE_HOOKSPAN'], '/workspace/hookspan'],
    [hosts, '/workspace/host'],
    [dirname(hosts), '/workspace/hosts'],
    [fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, ''), '/workspace/repository'],
    [homedir(), '/workspace/user'],
  ]
  let text = line.replace(/(?:127\.0\.0\.1|localhost):\d+/g, 'fake-model.local')
  // A short one, as `/` or `.`, would be found in what is no path.
  for (const [place = '', name = ''] of places) if (place.length > 4) text = text.replaceAll(place, name)
  return text
}

function dashed(path: string): string {
  return path.replace(/[^a-zA-Z0-9]/g, '-')
}
