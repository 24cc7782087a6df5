import type { LiveLine, Problem } from '../server/api.ts'
import { Lines } from './lines.ts'

export class NotAnswered extends Error {
  override readonly name = 'NotAnswered'
  /** 0 = no response. */
  readonly status: number

  constructor(status: number, problem: string) {
    super(problem)
    this.status = status
  }
}

let token = ''

/** Sets the token. Call before any request. */
export function askWith(known: string): void {
  token = known
}

/** @throws NotAnswered, or an `AbortError` when the signal aborts */
export async function ask<Shape>(path: string, signal?: AbortSignal): Promise<Shape> {
  const response = await send(path, signal)
  return (await response.json()) as Shape
}

/** Fetches a file to save. @throws as `ask` */
export async function askFile(path: string): Promise<Blob> {
  return (await send(path, undefined)).blob()
}

/** Yields lines as they arrive, until the server ends the stream or the signal aborts. @throws as `ask` */
export async function* askLive(signal: AbortSignal): AsyncGenerator<LiveLine, void> {
  const response = await send('/api/live', signal)
  const lines = new Lines()
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  if (reader === undefined) return
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    for (const line of lines.push(next.value)) yield JSON.parse(line) as LiveLine
  }
}

async function send(path: string, signal: AbortSignal | undefined): Promise<Response> {
  const headers = { authorization: `Bearer ${token}` }
  const response = await fetch(path, { headers, cache: 'no-store', ...(signal !== undefined && { signal }) }).catch(
    (error: unknown) => {
      if (signal?.aborted) throw error
      throw new NotAnswered(0, 'The viewer does not answer: it has ended, or its machine sleeps.')
    },
  )
  if (response.ok) return response
  const { problem } = (await response.json().catch(() => ({ problem: '' }))) as Problem
  throw new NotAnswered(response.status, sentence(problem) || `The viewer answers ${response.status}.`)
}

/** Turns a problem into a sentence: the server words it as part of a line. */
function sentence(problem: string): string {
  const text = problem.charAt(0).toUpperCase() + problem.slice(1)
  return text === '' || /[.!?]$/.test(text) ? text : `${text}.`
}
