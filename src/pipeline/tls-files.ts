import { readFileSync } from 'node:fs'
import type { BackendConfig } from '../backends/backend-config.ts'
import { codeOf } from './otlp-request.ts'
import { tls } from './sdk.ts'

/** What connections of one backend trust and show, in the words of `node:tls`. `key` is never to be shown. */
export interface TlsFiles {
  readonly ca?: Buffer
  readonly cert?: Buffer
  readonly key?: Buffer
}

/** The fields of a backend that name files of TLS. */
export type TlsPaths = Pick<BackendConfig, 'name' | 'certificate' | 'client_certificate' | 'client_key'>

const NO_FILES: TlsFiles = {}

/**
 * Reads what a backend's fields name. What cannot be used is told, a line each, and left out: the server then says what it
 * thinks of it, and what it refuses is kept.
 *
 * @param tell gets one line without a line break, which holds paths and codes and nothing of what is in the files
 */
export function readTlsFiles(paths: TlsPaths, tell: (line: string) => void): TlsFiles {
  const { name, certificate, client_certificate, client_key } = paths
  const read = (field: string, path: string): Buffer | undefined => {
    try {
      return readFileSync(path)
    } catch (error) {
      tell(`backend ${name}: ${field} ${path} cannot be read (${codeOf(error)}); it is left out. Correct ${field}`)
      return undefined
    }
  }
  const ca = certificate === undefined ? undefined : read('certificate', certificate)
  const trusted = ca ? { ca } : NO_FILES
  if (client_certificate === undefined && client_key === undefined) return trusted
  if (client_certificate === undefined || client_key === undefined) {
    const [there, missing] =
      client_key === undefined ? ['client_certificate', 'client_key'] : ['client_key', 'client_certificate']
    tell(`backend ${name}: ${there} is set without ${missing}; it is left out. Set ${missing}, too`)
    return trusted
  }
  const cert = read('client_certificate', client_certificate)
  const key = read('client_key', client_key)
  if (!cert || !key) return trusted
  const wrong = whatIsWrong(cert, key, client_certificate, client_key)
  if (wrong === undefined) return { ...trusted, cert, key }
  tell(`backend ${name}: ${wrong}; both are left out`)
  return trusted
}

/** The messages of TLS are not repeated: what they are made of is not ours to know. */
function whatIsWrong(cert: Buffer, key: Buffer, certPath: string, keyPath: string): string | undefined {
  const certCode = refusal({ cert })
  if (certCode !== undefined) return `client_certificate ${certPath} is no certificate in PEM (${certCode})`
  const keyCode = refusal({ key })
  if (keyCode !== undefined) return `client_key ${keyPath} is no key in PEM without a passphrase (${keyCode})`
  const code = refusal({ cert, key })
  if (code === undefined) return undefined
  return `client_key ${keyPath} is not the key of client_certificate ${certPath} (${code})`
}

function refusal(files: TlsFiles): string | undefined {
  try {
    tls().createSecureContext(files)
    return undefined
  } catch (error) {
    return codeOf(error)
  }
}
