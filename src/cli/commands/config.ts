import { KEY_NAMES, KEY_ROWS, type KeyName } from '../../plugin/config/keys.ts'
import { resolveConfig } from '../../plugin/config/resolve.ts'
import { type ShownKey, showConfig, usualPlace } from '../../plugin/config/show.ts'
import { type Command, type CommandIo, type CommandPage, command, EXIT } from '../command.ts'
import { wrapped } from '../help-text.ts'

const PAGE = {
  name: 'config',
  about: `Prints the effective configuration: every key, its value and the source of the value. Secrets are shown as <set>.`,
  options: {
    check: { help: 'print only problems, and exit with 1 if there are any' },
    json: {
      help: 'one JSON object: {"file", "values": [{key, value, source}], "problems": [{level, key, message}]}',
    },
  },
  closing: `Keys in the file. As environment variables: HOOKSPAN_ and the name in capitals.

${KEY_NAMES.map(keyHelp).join('')}
docs/configuration.md lists their defaults and the fields of backends.`,
} as const satisfies CommandPage

export const config: Command = command(PAGE, ({ values }, io) => show(values, io))

function show({ check, json }: { check: boolean; json: boolean }, io: CommandIo): number {
  const resolution = resolveConfig({ env: io.env, home: io.home })
  const { problems, file } = resolution
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

function table(shown: readonly ShownKey[]): string {
  const keyWidth = Math.max(...shown.map(({ key }) => key.length))
  const valueWidth = Math.min(48, Math.max(...shown.map(({ value }) => value.length)))
  return shown
    .map(({ key, value, source }) => `${key.padEnd(keyWidth)}  ${value.padEnd(valueWidth)}  ${source}`.trimEnd())
    .join('\n')
}

function keyHelp(key: KeyName): string {
  return `  ${key}\n${wrapped(KEY_ROWS[key].about, 74)
    .map(line => `      ${line}\n`)
    .join('')}`
}
