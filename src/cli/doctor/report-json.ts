import type { Examination } from './examination.ts'
import { isWrong } from './finding.ts'
import type { ProbeResult } from './probe-result.ts'

/** One line for programs; docs/doctor.md has its fields. */
export function reportJson(examination: Examination): string {
  const { version, node, config, backends, backlog, losses, findings } = examination
  return JSON.stringify({
    ok: !findings.some(isWrong),
    version,
    node,
    config: { file: config.file ?? null, values: config.values, problems: config.problems },
    backends: backends.map(backendJson),
    backlog,
    losses,
    findings,
  })
}

function backendJson({ name, type, url, delivered, metrics, readBack, millis, problems }: ProbeResult): object {
  return {
    name,
    type,
    url: url ?? null,
    delivered,
    metrics,
    readBack: readBack === null ? null : readBack.kind === 'found',
    millis,
    problem: problems.length === 0 ? null : problems.map(({ line }) => line).join('; '),
  }
}
