import { describe, expect, test } from 'vitest'
import type { BackendType } from '../../src/delivery/backends/backend-config.ts'
import { BACKEND_TYPES } from '../../src/delivery/backends/rows.ts'
import { planBackend } from '../../src/delivery/pipeline/backend-plan.ts'
import { BACKENDS, type BackendOptionRow } from '../../src/delivery/pipeline/index.ts'
import { isShownField, ownFields } from '../../src/plugin/config/backends.ts'
import { pipelineSettings } from '../../src/plugin/settings.ts'
import { messages, resolved, scratchHome } from './config/scratch-home.ts'

/** Of some options not every text can be used. */
const VALUES: Readonly<Record<string, string>> = {
  base_url: 'https://host.test',
  dsn: 'https://token@host.test',
  path: '/nowhere/spans.jsonl',
  metrics_path: '/nowhere/metrics.jsonl',
  stream: 'stderr',
}

function optionsOf(type: BackendType): [string, BackendOptionRow][] {
  return Object.entries(BACKENDS[type].options)
}

function namesOf(type: BackendType, isWanted: (option: BackendOptionRow) => boolean): string[] {
  return optionsOf(type).flatMap(([name, option]) => (isWanted(option) ? [name] : []))
}

/** What the pipeline makes of a backend that a person configures with these options, secrets by their variables. */
function planned(type: BackendType, names: readonly string[]) {
  const env: Record<string, string> = {}
  const backend: { [field: string]: unknown; type: BackendType } = { type, endpoint: 'https://host.test' }
  for (const name of names) {
    const value = VALUES[name] ?? `value of ${name}`
    if (isShownField(name)) {
      backend[name] = value
      continue
    }
    const variable = `TEST_${name.toUpperCase()}`
    backend[`${name}_env`] = variable
    env[variable] = value
  }
  const resolution = resolved({ code: { backends: [backend] }, env })
  expect(messages(resolution)).toEqual([])
  const [settings] = pipelineSettings(resolution.config, env, scratchHome()).backends
  return settings && planBackend(settings)
}

describe.each(BACKEND_TYPES)('%s', type => {
  const required = namesOf(type, option => option.required === true)

  test('shows all of its options but the secrets', () => {
    expect(
      ownFields(type)
        .filter(name => !isShownField(name))
        .sort(),
    ).toEqual(namesOf(type, option => option.secret === true).sort())
  })

  test('reads every option from the configuration', () => {
    const plan = planned(type, ownFields(type))
    const values = Object.fromEntries(ownFields(type).map(name => [name, VALUES[name] ?? `value of ${name}`]))
    expect(plan).toMatchObject({ ok: true, plan: { options: values } })
  })

  test('requires only the required options', () => {
    expect(planned(type, required)).toMatchObject({ ok: true })
  })

  for (const missing of required) {
    test(`reports that ${missing} is missing, which the configuration can set`, () => {
      const names = required.filter(name => name !== missing)
      expect(planned(type, names)).toMatchObject({ ok: false, problem: expect.stringContaining(`Set ${missing}`) })
      expect(ownFields(type)).toContain(missing)
    })
  }
})
