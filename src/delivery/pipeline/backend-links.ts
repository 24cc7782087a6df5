import type { BackendConfig } from '../backends/backend-config.ts'
import type { ReadBack } from '../backends/row.ts'
import { type BackendPlan, planBackend } from './backend-plan.ts'
import { baseUrl } from './endpoint.ts'

/** The project in which Phoenix files traces without a project name. */
const DEFAULT_PROJECT = 'default'

export interface TraceLinks {
  /** Address in the backend's UI. Absent if it depends on something unknown here. */
  readonly view?: string
  readonly readBack?: ReadBackRequest
}

export interface ReadBackRequest {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly found: ReadBack['found']
}

/** The UI address of one trace and the request that reads it back. Empty if the backend is misconfigured. */
export function traceLinks(settings: BackendConfig, traceId: string, projectName?: string): TraceLinks {
  const planned = planBackend(settings)
  if (!planned.ok) return {}
  const { plan } = planned
  const fill = (template: string): string => filled(template, placeholders(plan, traceId, projectName))
  const { traceView, readBack } = plan.row
  return {
    ...(traceView === undefined ? {} : { view: fill(traceView) }),
    ...(readBack ? { readBack: readBackRequest(plan, readBack, fill) } : {}),
  }
}

function readBackRequest(plan: BackendPlan, readBack: ReadBack, fill: (template: string) => string): ReadBackRequest {
  const { 'content-type': _ofThePost, ...headers } = plan.headers
  return { url: fill(readBack.url), headers: readBack.authenticated ? headers : {}, found: readBack.found }
}

function placeholders(plan: BackendPlan, traceId: string, projectName: string | undefined): Record<string, string> {
  const base = baseUrl(plan.urls.traces ?? plan.urls.metrics ?? '') ?? ''
  const values: Record<string, string> = { project: projectName ?? DEFAULT_PROJECT }
  for (const [key, option] of Object.entries(plan.options)) {
    if (option !== undefined && !plan.row.options[key]?.secret) values[key] = option
  }
  return { ...values, base, hostname: base && new URL(base).hostname, trace_id: traceId }
}

function filled(template: string, values: Readonly<Record<string, string>>): string {
  return template.replace(/\{(\w+)\}/g, (_whole, name: string) => {
    const value = values[name] ?? ''
    return name === 'base' || name === 'base_url' ? value.replace(/\/+$/, '') : encodeURIComponent(value)
  })
}
