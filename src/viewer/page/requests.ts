import type { LiveLine, Problem } from '../server/api.ts'
import { capitalized } from './formats.ts'
import { TextLineSplitter } from './line-splitter.ts'
import { knownToken } from './token.ts'

export class ViewerRequestError extends Error {
  override readonly name = 'ViewerRequestError'
  /** 0 = no response. */
  readonly status: number

  constructor(status: number, problem: string) {
    super(problem)
    this.status = status
  }
}

export function problemOf(error: unknown, otherwise = 'Loading failed.'): string {
  return error instanceof ViewerRequestError ? error.message : otherwise
}

export async function fetchJson<Shape>(path: string, signal?: AbortSignal): Promise<Shape> {
  return (await (await sendRequest(path, signal)).json()) as Shape
}

/** Yields lines as they arrive, until the server ends the stream or the signal aborts. @throws as `fetchJson` */
export async function* fetchLiveLines(signal: AbortSignal): AsyncGenerator<LiveLine, void> {
  const response = await sendRequest('/api/live', signal)
  const lines = new TextLineSplitter()
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  if (reader === undefined) return
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    for (const line of lines.splitChunk(next.value)) yield JSON.parse(line) as LiveLine
  }
}

export async function sendRequest(path: string, signal?: AbortSignal): Promise<Response> {
  const headers = { authorization: `Bearer ${knownToken()}` }
  const response = await fetch(path, { headers, cache: 'no-store', signal: signal ?? null }).catch((error: unknown) => {
    if (signal?.aborted) throw error
    throw new ViewerRequestError(0, 'The viewer does not respond: it has exited, or its machine is asleep.')
  })
  if (response.ok) return response
  const { problem } = (await response.json().catch(() => ({ problem: '' }))) as Problem
  // The server words a problem as part of a line.
  const text = problem === '' ? `The viewer responded with status ${response.status}` : capitalized(problem)
  throw new ViewerRequestError(response.status, /[.!?]$/.test(text) ? text : `${text}.`)
}
