import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, isAbsolute } from 'node:path'
import { planBackend } from '../../delivery/pipeline/backend-plan.ts'
import { placeOfBackend } from '../../plugin/config/backends.ts'
import { KEY_NAMES, KEY_ROWS, type KeyName } from '../../plugin/config/keys.ts'
import { configFiles } from '../../plugin/config/paths.ts'
import type { ConfigProblem } from '../../plugin/config/reading.ts'
import { resolveConfig } from '../../plugin/config/resolve.ts'
import { type ShownKey, showConfig, usualPlace } from '../../plugin/config/show.ts'
import type { Resolution } from '../../plugin/config/types.ts'
import { PACKAGE_VERSION, REPOSITORY_ADDRESS } from '../../plugin/package-facts.ts'
import { type Command, type CommandIo, command, EXIT, WrongUse, whyNot, wrapped } from '../command.ts'

export const config: Command = command({
  name: 'config',
  about: `Prints the effective configuration: every key, its value and the source of the value. Secrets are shown as <set>.`,
  options: {
    check: { help: 'print only problems, and exit with 1 if there are any' },
    init: { help: 'write a commented file to the usual place, unless there is one' },
    json: { help: 'one JSON object: {"file", "values": [{key, value, source}], "problems": [{level, key, message}]}' },
  },
  closing: `Keys in the file. As environment variables: HOOKSPAN_ and the name in capitals.

${KEY_NAMES.map(keyHelp).join('')}
docs/configuration.md lists their defaults and the fields of backends.`,
  run({ values }, io) {
    if (!values.init) return show(values, io)
    if (values.check || values.json) throw new WrongUse('--init cannot be combined with --check or --json')
    return writeTemplate(io)
  },
})

function show({ check, json }: { check: boolean; json: boolean }, io: CommandIo): number {
  const resolution = resolveConfig({ env: io.env, home: io.home })
  const problems = [...resolution.problems, ...problemsOfBackends(resolution)]
  const { file } = resolution
  const shown = showConfig(resolution)
  if (json) io.stdout.write(`${JSON.stringify({ file: file ?? null, values: shown, problems })}\n`)
  else {
    const where = file ?? `none; ${usualPlace(io.env, io.home)}`
    if (!check) io.stdout.write(`Configuration file: ${where}\n\n${table(shown)}\n`)
    for (const { message } of problems) io.stderr.write(`hookspan: ${message}\n`)
    if (check && problems.length === 0) io.stdout.write('The configuration is valid.\n')
  }
  return check && problems.length > 0 ? EXIT.failed : EXIT.ok
}

/** A backend that lacks a field is valid for the parser, and off at run time. */
function problemsOfBackends({ config }: Resolution): ConfigProblem[] {
  return config.backends.flatMap((backend, index) => {
    const result = planBackend(backend)
    const key = `backends[${index}]`
    const place = placeOfBackend(backend)
    const end = place === undefined ? '' : ` (${place})`
    const texts = result.ok ? result.warnings : [result.problem]
    const level = result.ok ? 'warning' : 'error'
    return texts.map(text => ({ level, key, message: `config: ${key}: ${text}${end}` }))
  })
}

/** The first line is read by editors with a YAML language server: they complete keys and mark mistakes. */
const TEMPLATE = `# yaml-language-server: $schema=${REPOSITORY_ADDRESS.replace('//github.com', '//raw.githubusercontent.com')}/v${PACKAGE_VERSION}/docs/config.schema.json

# Configuration of hookspan. Remove a "#" to set a key; docs/configuration.md describes all of them.
# Without a backend, nothing leaves this machine.

# content_capture: preview # off: no prompts, arguments or results; full: whole messages
# redact_patterns: ['EMP-\\d{6}'] # masked in addition to the known forms of secrets
# sample_rate: 0.5
# resource_attributes:
#   deployment.environment.name: production

# backends:
#   - type: phoenix
#   - type: otlp
#     endpoint: https://collector.example.com
#     headers: { authorization: 'Bearer \${COLLECTOR_TOKEN}' }
`

function writeTemplate(io: CommandIo): number {
  const { file } = resolveConfig({ env: io.env, home: io.home })
  if (file !== undefined) throw new Error(`there is a configuration already: ${file}`)
  const [path = ''] = configFiles(io.env, io.home)
  if (!isAbsolute(path)) throw new Error('there is no home directory to write to')
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    writeFileSync(path, TEMPLATE, { flag: 'wx', mode: 0o600 })
  } catch (error) {
    throw new Error(`${path} could not be written: ${whyNot(error)}`)
  }
  io.stdout.write(`Written: ${path}\n`)
  return EXIT.ok
}

function table(shown: readonly ShownKey[]): string {
  const keyWidth = Math.max(...shown.map(({ key }) => key.length))
  const valueWidth = Math.min(48, Math.max(...shown.map(({ value }) => value.length)))
  return shown
    .map(({ key, value, source }) => `${key.padEnd(keyWidth)}  ${value.padEnd(valueWidth)}  ${source}`.trimEnd())
    .join('\n')
}

function keyHelp(key: KeyName): string {
  const lines = wrapped(KEY_ROWS[key].about, 74).map(line => `      ${line}\n`)
  return `  ${key}\n${lines.join('')}`
}
