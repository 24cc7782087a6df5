import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePorts } from '../support/free-port.ts'
import { installedPath } from '../support/installed.ts'
import { startServer } from '../support/server-process.ts'

export interface Mlflow {
  readonly url: string
  readonly log: string
  /** @returns its id */
  createExperiment(name: string): Promise<string>
  /** Every trace of an experiment, without its spans. */
  traces(experiment: string): Promise<readonly MlflowTrace[]>
  /** The spans of a trace as they are stored. */
  spans(trace: string): Promise<readonly MlflowSpan[]>
  stop(): Promise<void>
}

export interface MlflowTrace {
  readonly trace_id: string
  readonly state: string
  readonly trace_metadata: Readonly<Record<string, string>>
  readonly request_preview?: string
  readonly response_preview?: string
}

/** Ids in base64. */
export interface MlflowSpan {
  readonly span_id: string
  readonly parent_span_id?: string
  readonly name: string
  readonly status: { readonly code: string }
  readonly attributes: readonly { readonly key: string; readonly value: unknown }[]
}

/** It imports a lot. */
export const START_MILLIS = 300_000
const PAGE = 500

/** A real MLflow tracking server with a database of its own; without telemetry of its own, and without jobs. */
export async function startMlflow(): Promise<Mlflow> {
  const folder = mkdtempSync(join(tmpdir(), 'hookspan-mlflow-'))
  const [port] = await freePorts(1)
  const url = `http://127.0.0.1:${port}`
  const server = await startServer({
    program: installedPath('mlflow'),
    args: ['server', '--host', '127.0.0.1', '--port', String(port), '--workers', '1', ...stores(folder)],
    env: { MLFLOW_DISABLE_TELEMETRY: 'true', DO_NOT_TRACK: 'true', MLFLOW_SERVER_ENABLE_JOB_EXECUTION: 'false' },
    cwd: folder,
    readyUrl: `${url}/health`,
    timeoutMillis: START_MILLIS,
  })
  return {
    url,
    get log(): string {
      return server.log
    },
    createExperiment: async name => {
      const made = (await post(`${url}/api/2.0/mlflow/experiments/create`, { name })) as { experiment_id: string }
      return made.experiment_id
    },
    traces: experiment => allTraces(url, experiment),
    spans: async trace => {
      const found = (await answer(await fetch(`${url}/api/3.0/mlflow/traces/get?trace_id=${trace}`))) as {
        trace: { spans: MlflowSpan[] }
      }
      return found.trace.spans
    },
    stop: async () => {
      await server.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function stores(folder: string): string[] {
  const database = `sqlite:///${join(folder, 'mlflow.db')}`
  return ['--backend-store-uri', database, '--artifacts-destination', join(folder, 'artifacts')]
}

async function allTraces(url: string, experiment: string): Promise<MlflowTrace[]> {
  const locations = [{ type: 'MLFLOW_EXPERIMENT', mlflow_experiment: { experiment_id: experiment } }]
  const found: MlflowTrace[] = []
  let token: string | undefined
  do {
    const asked = { locations, max_results: PAGE, ...(token === undefined ? {} : { page_token: token }) }
    const page = (await post(`${url}/api/3.0/mlflow/traces/search`, asked)) as {
      traces?: MlflowTrace[]
      next_page_token?: string
    }
    found.push(...(page.traces ?? []))
    token = page.next_page_token
  } while (token)
  return found
}

async function post(url: string, body: object): Promise<unknown> {
  const headers = { 'content-type': 'application/json' }
  return answer(await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) }))
}

async function answer(response: Response): Promise<unknown> {
  const text = await response.text()
  if (!response.ok) throw new Error(`${response.url} answered ${response.status}: ${text.slice(0, 500)}`)
  return JSON.parse(text)
}
