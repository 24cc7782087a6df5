import type { Attributes } from '@opentelemetry/api'
import type { Resource } from '@opentelemetry/resources'

/** A resource whose attributes are known when it is created. */
export class PlainResource implements Resource {
  readonly attributes: Attributes
  readonly schemaUrl?: string
  readonly asyncAttributesPending = false

  constructor(attributes: Attributes, schemaUrl?: string) {
    this.attributes = attributes
    if (schemaUrl !== undefined) this.schemaUrl = schemaUrl
  }

  getRawAttributes(): ReturnType<Resource['getRawAttributes']> {
    return Object.entries(this.attributes)
  }

  merge(other: Resource | null): Resource {
    if (other === null) return this
    const attributes = { ...other.attributes, ...this.attributes, ...other.attributes }
    return new PlainResource(attributes, other.schemaUrl || this.schemaUrl)
  }
}
