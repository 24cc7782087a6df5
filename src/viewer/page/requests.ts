import type { LiveLine, Problem } from '../server/api.ts'
import { TextLineSplitter } from './line-splitter.ts'

export class ViewerRequestError extends Error {
  override readonly name = 'ViewerRequestError'
  /** 0 = no response. */
  readonly status: number

  constructor(status: number, problem: string) {
    super(problem)
    this.status = status
  }
}

let token = ''

export function setToken(known: string): void {
  token = known
}

export async function fetchJson<Shape>(path: string, signal?: AbortSignal): Promise<Shape> {
  const response = await sendRequest(path, signal)
  return (await response.json()) as Shape
}

export async function fetchFile(path: string): Promise<Blob> {
  return (await sendRequest(path, undefined)).blob()
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

async function sendRequest(path: string, signal: AbortSignal | undefined): Promise<Response> {
  const headers = { authorization: `Bearer ${token}` }
  const response = await fetch(path, { headers, cache: 'no-store', ...(signal !== undefined && { signal }) }).catch(
    (error: unknown) => {
      if (signal?.aborted) throw error
      throw new ViewerRequestError(0, 'The viewer does not answer: it has ended, or its machine sleeps.')
    },
  )
  if (response.ok) return response
  const { problem } = (await response.json().catch(() => ({ problem: '' }))) as Problem
  throw new ViewerRequestError(response.status, sentence(problem) || `The viewer answers ${response.status}.`)
}

/** Turns a problem into a sentence: the server words it as part of a line. */
function sentence(problem: string): string {
  const text = problem.charAt(0).toUpperCase() + problem.slice(1)
  return text === '' || /[.!?]$/.test(text) ? text : `${text}.`
}
