import { load } from '../delivery/load-package.ts'

interface PackageFacts {
  readonly name: string
  readonly version: string
  readonly engines: { readonly node: string }
  readonly repository: { readonly url: string }
}

const facts = load<PackageFacts>('../../package.json')

export const PACKAGE_NAME: string = facts.name
export const PACKAGE_VERSION: string = facts.version
export const NODE_RANGE: string = facts.engines.node
export const REPOSITORY_ADDRESS: string = facts.repository.url.replace(/^git\+|\.git$/g, '')
