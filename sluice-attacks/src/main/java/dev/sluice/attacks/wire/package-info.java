/** HTTP/1.1, HTTP/2 and protobuf by hand, because the attacks send what no library would. */
@NullMarked
package dev.sluice.attacks.wire;

import org.jspecify.annotations.NullMarked;
