import { readFileSync } from 'node:fs'
import { type Answer, delegates, type Lived, recorded, runProgram } from '../sdk-program.ts'

const PROGRAM = readFileSync(new URL('program.mjs', import.meta.url), 'utf8')

/** What the program is to do. */
export interface Plan {
  readonly kind?: 'generate' | 'stream' | 'agent' | 'object' | 'streamObject' | 'embed'
  /** A call each. */
  readonly prompts?: readonly string[]
  readonly atOnce?: boolean
  /** The `sessionId` in the context of the calls, and what else is told of it. */
  readonly session?: string
  readonly context?: Readonly<Record<string, unknown>>
  readonly functionId?: string
  /** How far a stream is read. Absent = to its end. */
  readonly reads?: 'none' | 'some' | 'aborted'
  /** Of the person, on all that is asked; without it a call stays interrupted. */
  readonly choice?: 'once' | 'deny'
  /** What decides about the file that is to be deleted, instead of a person. */
  readonly policy?: 'approved' | 'denied'
  /** Whether the answer is to be an object. */
  readonly structured?: boolean
  readonly maxRetries?: number
  /** More of the telemetry settings of each call. */
  readonly telemetry?: Readonly<Record<string, unknown>>
  /** Registered twice, with the SDK's own OpenTelemetry and one that throws. */
  readonly beside?: boolean
  /** The file that what waits for a person is saved to, or gone on from. */
  readonly saves?: string
  readonly resumes?: string
}

interface Result {
  readonly output?: unknown
  readonly thrown?: string
  readonly theirs?: number
}

export function withResearcher(researcher: Answer): Answer {
  return delegates({ name: 'research', arguments: { question: 'What is the answer?' } }, researcher)
}

export function live(answer: Answer, plan: Plan, home: string): Promise<Lived<Result>> {
  return runProgram(PROGRAM, answer, { kind: 'generate', maxRetries: 0, ...plan }, home)
}

export function lived(scenario: string, description: string, answer: Answer, plan: Plan = {}): Promise<Lived<Result>> {
  return recorded('ai-sdk', scenario, description, home => live(answer, plan, home))
}
