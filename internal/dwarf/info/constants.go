package info

// Tags [DWARF 5, table 7.3].
const (
	tagArrayType         = 0x01
	tagClassType         = 0x02
	tagEnumerationType   = 0x04
	tagFormalParameter   = 0x05
	tagLexicalBlock      = 0x0b
	tagMember            = 0x0d
	tagPointerType       = 0x0f
	tagReferenceType     = 0x10
	tagCompileUnit       = 0x11
	tagStructureType     = 0x13
	tagSubroutineType    = 0x15
	tagTypedef           = 0x16
	tagUnionType         = 0x17
	tagUnspecifiedParams = 0x18
	tagVariant           = 0x19
	tagInheritance       = 0x1c
	tagInlinedSubroutine = 0x1d
	tagModule            = 0x1e
	tagPtrToMemberType   = 0x1f
	tagSubrangeType      = 0x21
	tagBaseType          = 0x24
	tagCatchBlock        = 0x25
	tagConstType         = 0x26
	tagEnumerator        = 0x28
	tagSubprogram        = 0x2e
	tagTryBlock          = 0x32
	tagVariantPart       = 0x33
	tagVariable          = 0x34
	tagVolatileType      = 0x35
	tagRestrictType      = 0x37
	tagInterfaceType     = 0x38
	tagNamespace         = 0x39
	tagTemplateType      = 0x2f
	tagTemplateValue     = 0x30
	tagUnspecifiedType   = 0x3b
	tagPartialUnit       = 0x3c
	tagTypeUnit          = 0x41
	tagRvalueReference   = 0x42
	tagAtomicType        = 0x47
	tagCallSite          = 0x48
	tagCallSiteParameter = 0x49
	tagSkeletonUnit      = 0x4a
	tagGNUParameterPack  = 0x4107
	tagGNUCallSite       = 0x4109
	tagGNUCallSiteParam  = 0x410a
)

// Attributes [DWARF 5, table 7.5], and those of GNU for split DWARF 4.
const (
	attrSibling        = 0x01
	attrLocation       = 0x02
	attrName           = 0x03
	attrByteSize       = 0x0b
	attrBitOffset      = 0x0c
	attrBitSize        = 0x0d
	attrStmtList       = 0x10
	attrLowPC          = 0x11
	attrHighPC         = 0x12
	attrLanguage       = 0x13
	attrDiscr          = 0x15
	attrDiscrValue     = 0x16
	attrCompDir        = 0x1b
	attrConstValue     = 0x1c
	attrUpperBound     = 0x2f
	attrBitStride      = 0x2e
	attrAbstractOrigin = 0x31
	attrCount          = 0x37
	attrMemberLocation = 0x38
	attrDeclLine       = 0x3b
	attrDeclaration    = 0x3c
	attrDiscrList      = 0x3d
	attrEncoding       = 0x3e
	attrContainingType = 0x1d
	attrExternal       = 0x3f
	attrFrameBase      = 0x40
	attrSpecification  = 0x47
	attrType           = 0x49
	attrByteStride     = 0x51
	attrRanges         = 0x55
	attrCallColumn     = 0x57
	attrCallFile       = 0x58
	attrCallLine       = 0x59
	attrSignature      = 0x69
	attrDataBitOffset  = 0x6b
	attrEnumClass      = 0x6d
	attrLinkageName    = 0x6e
	attrStrOffsetsBase = 0x72
	attrAddrBase       = 0x73
	attrRnglistsBase   = 0x74
	attrDwoName        = 0x76
	attrCallAllCalls   = 0x7a
	attrCallAllSource  = 0x7b
	attrCallAllTails   = 0x7c
	attrCallReturnPC   = 0x7d
	attrCallValue      = 0x7e
	attrCallOrigin     = 0x7f
	attrCallPC         = 0x81
	attrCallTailCall   = 0x82
	attrCallTarget     = 0x83
	attrExportSymbols  = 0x89
	attrLoclistsBase   = 0x8c
	attrMIPSLinkage    = 0x2007
	attrGNUCallValue   = 0x2111
	attrGNUCallTarget  = 0x2113
	attrGNUTailCall    = 0x2115
	attrGNUAllTails    = 0x2116
	attrGNUAllCalls    = 0x2117
	attrGNUAllSource   = 0x2118
	attrGNUDwoName     = 0x2130
	attrGNUDwoID       = 0x2131
	attrGNURangesBase  = 0x2132
	attrGNUAddrBase    = 0x2133
)

// Forms [DWARF 5, table 7.6], and those of GNU for dwz and split DWARF 4.
const (
	formAddr          = 0x01
	formBlock2        = 0x03
	formBlock4        = 0x04
	formData2         = 0x05
	formData4         = 0x06
	formData8         = 0x07
	formString        = 0x08
	formBlock         = 0x09
	formBlock1        = 0x0a
	formData1         = 0x0b
	formFlag          = 0x0c
	formSdata         = 0x0d
	formStrp          = 0x0e
	formUdata         = 0x0f
	formRefAddr       = 0x10
	formRef1          = 0x11
	formRef2          = 0x12
	formRef4          = 0x13
	formRef8          = 0x14
	formRefUdata      = 0x15
	formIndirect      = 0x16
	formSecOffset     = 0x17
	formExprloc       = 0x18
	formFlagPresent   = 0x19
	formStrx          = 0x1a
	formAddrx         = 0x1b
	formRefSup4       = 0x1c
	formStrpSup       = 0x1d
	formData16        = 0x1e
	formLineStrp      = 0x1f
	formRefSig8       = 0x20
	formImplicitConst = 0x21
	formLoclistx      = 0x22
	formRnglistx      = 0x23
	formRefSup8       = 0x24
	formStrx1         = 0x25
	formStrx4         = 0x28
	formAddrx1        = 0x29
	formAddrx4        = 0x2c
	formGNUAddrIndex  = 0x1f01
	formGNUStrIndex   = 0x1f02
	formGNURefAlt     = 0x1f20
	formGNUStrpAlt    = 0x1f21
)

// Unit types [DWARF 5, table 7.2].
const (
	unitCompile      = 0x01
	unitType         = 0x02
	unitPartial      = 0x03
	unitSkeleton     = 0x04
	unitSplitCompile = 0x05
	unitSplitType    = 0x06
)
