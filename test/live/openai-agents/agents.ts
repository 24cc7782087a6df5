import { readFileSync } from 'node:fs'
import { expect } from 'vitest'
import { scratchHome } from '../live-host.ts'
import { type Answer, asksFor, DELETE, delegates, type Lived, PARIS, recorded, runProgram } from '../sdk-program.ts'

const PROGRAM = readFileSync(new URL('program.mjs', import.meta.url), 'utf8')

/** What the program is to do. */
export interface Plan {
  readonly api?: 'responses' | 'chat'
  readonly streams?: boolean
  /** Whether its runners are given to `traceRunner`. */
  readonly traced?: boolean
  /** More of the runner's configuration. */
  readonly config?: Readonly<Record<string, unknown>>
  /** A run each, in one conversation. */
  readonly prompts?: readonly string[]
  /** Of the person, on all that is asked; without it a run stays interrupted. */
  readonly choice?: 'once' | 'always' | 'deny'
  /** All runs at once, the n-th in the n-th of the sessions. */
  readonly atOnce?: boolean
  readonly sessions?: readonly string[]
  readonly guarded?: boolean
  /** Registered twice, after a slow processor of somebody else and the host's own. */
  readonly beside?: boolean
  /** The file that the state of the run is saved to, or gone on from. */
  readonly saves?: string
  readonly resumes?: string
}

interface Result {
  readonly output?: string
  readonly thrown?: string
}

export const asksToDelete: Answer = asksFor([DELETE, PARIS], 'Done.')

export function withResearcher(researcher: Answer): Answer {
  return delegates({ name: 'research', arguments: { input: 'What is the answer?' } }, researcher)
}

export function live(answer: Answer, plan: Plan, home: string = scratchHome()): Promise<Lived<Result>> {
  return runProgram(PROGRAM, answer, { api: 'responses', streams: false, traced: true, ...plan }, home)
}

export async function lived(scenario: string, description: string, answer: Answer, plan: Plan): Promise<Lived<Result>> {
  const run = await recorded('openai-agents', scenario, description, home => live(answer, plan, home))
  expect(run.ended.stderr).not.toContain('hookspan')
  return run
}
