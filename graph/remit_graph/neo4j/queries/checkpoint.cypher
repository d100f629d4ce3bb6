// put_checkpoint_part
// Keep one part of an image; parts are named by the image's digest, so a part that is there is the same.
MERGE (part:CheckpointPart {name: $name})
ON CREATE SET part.digest = $digest, part.part = $part, part.data = $data

// count_checkpoint_parts
// How many parts of an image are here.
MATCH (part:CheckpointPart {digest: $digest})
RETURN count(part) AS parts

// put_checkpoint
// Let an image count.
MERGE (checkpoint:Checkpoint {revision: $revision})
SET checkpoint.hash = $hash, checkpoint.digest = $digest, checkpoint.parts = $parts

// checkpoints
// The images that count, newest first.
MATCH (checkpoint:Checkpoint)
RETURN checkpoint.revision AS revision, checkpoint.hash AS hash, checkpoint.digest AS digest, checkpoint.parts AS parts
ORDER BY revision DESC

// checkpoint_part
// One part of an image.
MATCH (part:CheckpointPart {name: $name})
RETURN part.data AS data

// drop_checkpoints
// Let all but the newest $keep images and that of $base count no longer, and none from before it.
MATCH (checkpoint:Checkpoint)
WITH checkpoint
ORDER BY checkpoint.revision DESC
WITH collect(checkpoint) AS checkpoints
UNWIND range(0, size(checkpoints) - 1) AS place
WITH checkpoints[place] AS checkpoint, place
WHERE checkpoint.revision < $base OR (checkpoint.revision > $base AND place >= $keep)
DELETE checkpoint

// drop_checkpoint_parts
// Remove some parts that belong to no image that counts, and tell how many.
MATCH (checkpoint:Checkpoint)
WITH collect(checkpoint.digest) AS digests
MATCH (part:CheckpointPart)
WHERE NOT part.digest IN digests
WITH part
LIMIT 32
DELETE part
RETURN count(part) AS dropped
